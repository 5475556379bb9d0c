package prometheus_test

import (
	"database/sql"
	"log"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tntsql/tntsql"
	tntprom "github.com/tntsql/tntsql/metrics/prometheus"
)

func ExampleNewCollector() {
	cfg, err := tntsql.ParseDSN("tarantool://app:secret@10.0.0.1,10.0.0.2,10.0.0.3/?max_lag=5s")
	if err != nil {
		log.Fatal(err)
	}
	connector, err := tntsql.NewConnector(cfg)
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)

	registry := prometheus.NewRegistry()
	registry.MustRegister(tntprom.NewCollector(connector), collectors.NewDBStatsCollector(db, "orders"))
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}
