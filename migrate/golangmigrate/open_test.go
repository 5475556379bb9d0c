package golangmigrate

import (
	"testing"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseURL(t *testing.T) {
	tests := []struct{ url, dsn, table string }{
		{"tarantool://h", "tarantool://h", ""},
		{"tarantool://u:p@h1:3301,h2:3301/", "tarantool://u:p@h1:3301,h2:3301/", ""},
		{"tarantool://h/?read_mode=rw&seq_scan=true", "tarantool://h/?read_mode=rw&seq_scan=true", ""},
		{"tarantool://h/?x-migrations-table=t", "tarantool://h/", "t"},
		{"tarantool://h/?x-migrations-table=a%20b+c", "tarantool://h/", "a b+c"},
		{"tarantool://h/?read_mode=rw&x-migrations-table=t&seq_scan=true", "tarantool://h/?read_mode=rw&seq_scan=true", "t"},
		{"tarantool://h/?", "tarantool://h/", ""},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			dsn, config, err := parseURL(tt.url)
			require.NoError(t, err)
			assert.Equal(t, tt.dsn, dsn)
			assert.Equal(t, &Config{MigrationsTable: tt.table}, config)
		})
	}
}

func TestRegisteredSchemes(t *testing.T) {
	assert.Subset(t, database.List(), []string{"tarantool", "tarantool+srv"})
}
