package itest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// packages are what the Go of the pages may use without importing it.
var packages = map[string]string{
	"attribute": "go.opentelemetry.io/otel/attribute",
	"bun":       "github.com/uptrace/bun",
	"decimal":   "github.com/shopspring/decimal",
	"otelsql":   "github.com/XSAM/otelsql",
	"require":   "github.com/stretchr/testify/require",
	"sqlscan":   "github.com/georgysavva/scany/v2/sqlscan",
	"sqlx":      "github.com/jmoiron/sqlx",
	"squirrel":  "github.com/Masterminds/squirrel",
	"trace":     "go.opentelemetry.io/otel/trace",
	"uuid":      "github.com/google/uuid",

	"bundialect":    "github.com/tntsql/tntsql/internal/itest/bundialect",
	"tarantooltest": "github.com/tntsql/tntsql/tarantooltest",
	"tntsql":        "github.com/tntsql/tntsql",

	"big": "math/big", "context": "context", "driver": "database/sql/driver", "errors": "errors", "fmt": "fmt",
	"http": "net/http", "json": "encoding/json", "log": "log", "os": "os", "slog": "log/slog", "sql": "database/sql",
	"strings": "strings", "syscall": "syscall", "signal": "os/signal", "testing": "testing", "time": "time",
}

// declarations are the variables that a block may use without declaring them.
const declarations = `
var (
	ctx       context.Context
	err       error
	dsn       string
	cfg       *tntsql.Config
	connector *tntsql.Connector
	db        *sql.DB
	conn      *sql.Conn
	tx        *sql.Tx
	rows      *sql.Rows
	next      http.Handler
	server    *http.Server
	t         *testing.T
	gormDB    gorm
)

type user struct{ ID int }

// gorm stands for a *gorm.DB, which is not a dependency of this module.
type gorm interface {
	WithContext(context.Context) gorm
	First(dest any, conds ...any) gorm
}
`

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestTheGoOfTheDocumentationCompiles checks each block of Go in README.md and
// docs: a file, declarations, or statements. What it leaves unused is no error.
func TestTheGoOfTheDocumentationCompiles(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	imports := exportData(t)
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		blocks := goBlock.FindAllSubmatchIndex(text, -1)
		assert.Len(t, blocks, bytes.Count(text, []byte("```go\n")), "%s: a block in a list is not checked", page)
		for _, block := range blocks {
			line := 1 + bytes.Count(text[:block[2]], []byte("\n"))
			name := fmt.Sprintf("%s:%d", filepath.Base(page), line)
			t.Run(name, func(t *testing.T) {
				assert.NoError(t, compile(imports, name, string(text[block[2]:block[3]])))
			})
		}
	}
}

func TestCompileFindsMistakes(t *testing.T) {
	imports := exportData(t)
	for block, want := range map[string]string{
		"db.Exec(1)":                            "cannot use 1",
		"tntsql.NoSuchName()":                   "undefined: tntsql.NoSuchName",
		"db.Ping(":                              "expected",
		"ctx = tntsql.WithMode(ctx)":            "not enough arguments",
		"func f() { var x int = `a` }":          "cannot use `a`",
		"package main\n\nfunc main() { f() }\n": "undefined: f",
	} {
		assert.ErrorContains(t, compile(imports, "block", block), want, block)
	}
	for _, block := range []string{
		"unused := 1",
		"import \"bytes\"\n\nvar b bytes.Buffer",
		"import _ \"github.com/tntsql/tntsql\" // the driver\n\nfunc f() error { return db.Ping() }",
		"package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }\n",
	} {
		assert.NoError(t, compile(imports, "block", block), block)
	}
}

// exportData finds packages as the compiler left them.
func exportData(t *testing.T) types.Importer {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "bytes"}
	for _, path := range packages {
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	list, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	files := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("package %s is not in the list of the test", path)
		}
		return os.Open(files[path])
	})
}

// compile checks a block of Go.
func compile(imports types.Importer, name, block string) error {
	fset := token.NewFileSet()
	file, err := parseBlock(fset, name, block)
	if err != nil {
		return err
	}
	var problems []error
	check := types.Config{Importer: imports, Error: func(err error) {
		var problem types.Error
		if errors.As(err, &problem) && !problem.Soft { // soft: something is not used
			problems = append(problems, err)
		}
	}}
	_, _ = check.Check("doc", fset, []*ast.File{file}, nil) // Error has them all
	return errors.Join(problems...)
}

// parseBlock takes a block for a file, for declarations, or for statements.
func parseBlock(fset *token.FileSet, name, block string) (*ast.File, error) {
	if strings.HasPrefix(block, "package ") {
		return parser.ParseFile(fset, name, block, 0)
	}
	imports, rest := cutImports(block)
	head := "package doc\n" + imports
	own := importNames(imports)
	for pkg, path := range packages {
		if !own[path] {
			head += fmt.Sprintf("import %s %q\n", pkg, path)
		}
	}
	head += declarations + fmt.Sprintf("//line %s:%d\n", name, 1+strings.Count(imports, "\n"))
	if file, err := parser.ParseFile(fset, "", head+rest, 0); err == nil {
		return file, nil
	}
	return parser.ParseFile(fset, "", head+"func _() {"+rest+"}\n", 0)
}

// cutImports splits a block behind the imports at its beginning.
func cutImports(block string) (imports, rest string) {
	for strings.HasPrefix(block, "import ") || strings.HasPrefix(block, "\n") && imports != "" {
		line, tail, _ := strings.Cut(block, "\n")
		imports += line + "\n"
		block = tail
	}
	return imports, block
}

// importNames are the paths of imports that a block may use by their names.
func importNames(imports string) map[string]bool {
	paths := make(map[string]bool)
	file, err := parser.ParseFile(token.NewFileSet(), "", "package doc\n"+imports, parser.ImportsOnly)
	if err != nil {
		return paths
	}
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && spec.Name == nil {
			paths[path] = true
		}
	}
	return paths
}
