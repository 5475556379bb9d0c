package tntsql

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	dsnDoc     = "docs/dsn.md"
	peersBegin = "<!-- peers:begin -->"
	peersEnd   = "<!-- peers:end -->"
)

// peerNames are what pgx, go-sql-driver/mysql and MongoDB's connection strings call a
// parameter, or what comes nearest; empty for nothing.
var peerNames = map[string][3]string{
	"hosts":                {"`host=h1,h2`", "", "the list of hosts"},
	"socket":               {"`host=/directory`", "`unix(/path)`", "a host, percent-encoded"},
	"srv":                  {"", "", "`mongodb+srv://`"},
	"read_mode":            {"`target_session_attrs`, when it connects", "", "`readPreference`"},
	"read_after_write":     {"", "", "causal consistency of a session, in code"},
	"read_only":            {"`default_transaction_read_only`", "`transaction_read_only`", ""},
	"selection_timeout":    {"", "", "`serverSelectionTimeoutMS`"},
	"connect_timeout":      {"`connect_timeout`", "`timeout`", "`connectTimeoutMS`"},
	"request_timeout":      {"`statement_timeout`, by the server", "`readTimeout`, `writeTimeout`", "`timeoutMS`"},
	"close_timeout":        {"", "", "the context of `Disconnect`"},
	"refresh_interval":     {"", "", "`heartbeatFrequencyMS`"},
	"probe_timeout":        {"", "", "`connectTimeoutMS`, of its monitors too"},
	"dead_timeout":         {"", "`readTimeout`", "`socketTimeoutMS`"},
	"discovery":            {"", "", "`replicaSet`; `directConnection` for none"},
	"balancer":             {"", "", "`readPreference=nearest`, `localThresholdMS`"},
	"max_lag":              {"", "", "`maxStalenessSeconds`"},
	"conns_per_instance":   {"`pool_max_conns` of pgxpool", "`SetMaxOpenConns`", "`maxPoolSize`"},
	"max_in_flight":        {"", "", ""},
	"tx_timeout":           {"`idle_in_transaction_session_timeout`, by the server", "", ""},
	"stmt_cache":           {"`statement_cache_capacity`", "", ""},
	"column_case":          {"", "", ""},
	"seq_scan":             {"`enable_seqscan`", "", ""},
	sessionPrefix + "NAME": {"any other name", "any other name", ""},
	"full_metadata":        {"", "", ""},
	"max_response_size":    {"", "", ""},
	"auth":                 {"", "`allowCleartextPasswords` and the like", "`authMechanism`"},
	"tls":                  {"`sslmode`", "`tls`", "`tls`, `tlsInsecure`"},
	"tls_ca":               {"`sslrootcert`", "`RegisterTLSConfig`", "`tlsCAFile`"},
	"tls_cert":             {"`sslcert`", "`RegisterTLSConfig`", "`tlsCertificateKeyFile`"},
	"tls_key":              {"`sslkey`", "`RegisterTLSConfig`", "`tlsCertificateKeyFile`"},
	"tls_server_name":      {"", "`RegisterTLSConfig`", ""},
}

// peersMarkdown is the table of other drivers' names in docs/dsn.md.
func peersMarkdown() string {
	var b strings.Builder
	b.WriteString("| tntsql | pgx | MySQL | MongoDB |\n|---|---|---|---|\n")
	for _, p := range params {
		fmt.Fprintf(&b, "| `%s` |", p.name)
		for _, name := range peerNames[p.name] {
			if name == "" {
				name = "–"
			}
			fmt.Fprintf(&b, " %s |", name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// UPDATE_README=1 writes the table into docs/dsn.md.
func TestTheDocumentationHasWhatOtherDriversCallEachParameter(t *testing.T) {
	for name := range peerNames {
		assert.True(t, slices.ContainsFunc(params, func(p param) bool { return p.name == name }), "%s is no parameter", name)
	}
	for _, p := range params {
		assert.Contains(t, peerNames, p.name)
	}

	text, err := os.ReadFile(dsnDoc)
	require.NoError(t, err)
	head, rest, hasBegin := strings.Cut(string(text), peersBegin)
	table, tail, hasEnd := strings.Cut(rest, peersEnd)
	require.True(t, hasBegin && hasEnd, "%s needs the lines %s and %s, in this order", dsnDoc, peersBegin, peersEnd)
	want := "\n" + peersMarkdown()
	if os.Getenv("UPDATE_README") == "1" && table != want {
		require.NoError(t, os.WriteFile(dsnDoc, []byte(head+peersBegin+want+peersEnd+tail), 0o644))
		return
	}
	assert.Equal(t, want, table, "run UPDATE_README=1 go test -run TestTheDocumentation .")
}

// TestTheDSNsOfTheDocumentationAreValid parses each that is not a form with brackets.
func TestTheDSNsOfTheDocumentationAreValid(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	dsn := regexp.MustCompile("tarantool(\\+srv)?://[^`\"\\s]*")
	parsed := 0
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, text := range dsn.FindAllString(string(text), -1) {
			if strings.Contains(text, "[user") || strings.HasSuffix(text, "://") || strings.Contains(text, "//name/") {
				continue
			}
			_, err := ParseDSN(text)
			assert.NoError(t, err, "%s: %s", page, text)
			parsed++
		}
	}
	assert.Greater(t, parsed, 5)

	text, err := os.ReadFile(dsnDoc)
	require.NoError(t, err)
	_, settings, _ := strings.Cut(string(text), "| for | parameters |")
	settings, _, _ = strings.Cut(settings, "\n## ")
	for _, match := range regexp.MustCompile("`([a-z_]+=[^`]*)`").FindAllStringSubmatch(settings, -1) {
		_, err := ParseDSN("tarantool://localhost/?" + match[1])
		assert.NoError(t, err, match[1])
	}
}
