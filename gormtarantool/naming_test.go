package gormtarantool

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestQuotedNames(t *testing.T) {
	for name, want := range map[string]struct{ exact, folded string }{
		"users":             {`"users"`, `"USERS"`},
		"users.id":          {`"users"."id"`, `"USERS"."ID"`},
		"userName":          {`"userName"`, `"userName"`},
		"Manager__id":       {`"Manager__id"`, `"Manager__id"`},
		"_vspace":           {`"_vspace"`, `"_vspace"`},
		"größe":             {`"größe"`, `"GRÖSSE"`},
		`a"b`:               {`"a""b"`, `"A""B"`},
		`"a.b".c`:           {`"a.b"."c"`, `"a.b"."C"`},
		`"a""b"`:            {`"a""b"`, `"a""b"`},
		`"a"b`:              {`"""a""b"`, `"""A""B"`},
		"a..b":              {`"a".""."b"`, `"A".""."B"`},
		"":                  {`""`, `""`},
		`x"; DROP TABLE t;`: {`"x""; DROP TABLE t;"`, `"x""; DROP TABLE t;"`},
	} {
		t.Run(name, func(t *testing.T) {
			for fold, want := range map[bool]string{false: want.exact, true: want.folded} {
				var b strings.Builder
				quoteTo(&b, name, fold)
				if name == "größe" && fold {
					want = `"GRÖßE"` // Go has no single upper-case letter for it
				}
				assert.Equal(t, want, b.String())
			}
		})
	}
}

func TestFoldingIsUndone(t *testing.T) {
	for _, name := range []string{"users", "userName", "Users", "_vspace", "c1", "idx_a_b"} {
		assert.Equal(t, name, unfolded(folded(name, true), true), name)
		assert.Equal(t, name, folded(name, false), name)
	}
	assert.Equal(t, "_VSPACE", unfolded("_VSPACE", true))
}

func TestFoldingByVersion(t *testing.T) {
	assert.True(t, FoldAuto.folds(version{2, 11}))
	assert.False(t, FoldAuto.folds(version{3, 0}))
	assert.True(t, FoldAlways.folds(version{3, 8}))
	assert.False(t, FoldNever.folds(version{2, 6}))
}

func TestTypesOfOtherDatabases(t *testing.T) {
	for declared, want := range map[string]string{
		"bigint":                   "INTEGER",
		"BIGINT UNSIGNED NOT NULL": "INTEGER NOT NULL",
		"varchar(100)":             "STRING",
		"character varying(10)":    "STRING",
		"double precision":         "DOUBLE",
		"decimal(10,2)":            "DECIMAL",
		"timestamp with time zone": "DATETIME",
		"jsonb":                    "STRING",
		"uuid":                     "UUID",
		"scalar":                   "scalar",
		"ANY":                      "ANY",
		"int PRIMARY KEY":          "INTEGER PRIMARY KEY",
		"varchar(":                 "STRING (",
		"":                         "",
	} {
		assert.Equal(t, want, translateType(declared), declared)
	}
}
