package gormtarantool

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuotedNames(t *testing.T) {
	for name, want := range map[string]struct{ exact, upper, byServer string }{
		"users":             {`"users"`, `"USERS"`, `users`},
		"users.id":          {`"users"."id"`, `"USERS"."ID"`, `users.id`},
		"c1_":               {`"c1_"`, `"C1_"`, `c1_`},
		"1c":                {`"1c"`, `"1C"`, `"1C"`},
		"users.number":      {`"users"."number"`, `"USERS"."NUMBER"`, `users."NUMBER"`},
		"key":               {`"key"`, `"KEY"`, `"KEY"`},
		"userName":          {`"userName"`, `"userName"`, `"userName"`},
		"Manager__id":       {`"Manager__id"`, `"Manager__id"`, `"Manager__id"`},
		"USERS":             {`"USERS"`, `"USERS"`, `"USERS"`},
		"_vspace":           {`"_vspace"`, `"_vspace"`, `"_vspace"`},
		"größe":             {`"größe"`, `"GRÖßE"`, `"GRÖßE"`}, // Go has no single upper-case letter for ß
		"two words":         {`"two words"`, `"TWO WORDS"`, `"TWO WORDS"`},
		`a"b`:               {`"a""b"`, `"A""B"`, `"A""B"`},
		`"a.b".c`:           {`"a.b"."c"`, `"a.b"."C"`, `"a.b".c`},
		`"a""b"`:            {`"a""b"`, `"a""b"`, `"a""b"`},
		`"a"b`:              {`"""a""b"`, `"""A""B"`, `"""A""B"`},
		"a..b":              {`"a".""."b"`, `"A".""."B"`, `a."".b`},
		"":                  {`""`, `""`, `""`},
		`x"; drop table t;`: {`"x""; drop table t;"`, `"X""; DROP TABLE T;"`, `"X""; DROP TABLE T;"`},
	} {
		t.Run(name, func(t *testing.T) {
			quote := func(fold, serverFolds bool) string {
				var b strings.Builder
				quoteTo(&b, name, fold, serverFolds)
				return b.String()
			}
			assert.Equal(t, want.exact, quote(false, false))
			assert.Equal(t, want.exact, quote(false, true))
			assert.Equal(t, want.upper, quote(true, false))
			assert.Equal(t, want.byServer, quote(true, true))
		})
	}
}

func TestPlainNames(t *testing.T) {
	require.True(t, slices.IsSorted(keywords))
	for name, want := range map[string]bool{
		"users": true, "user_id": true, "c1": true,
		"": false, "1c": false, "_c": false, "User": false, "größe": false, "a b": false, "a-b": false,
		"user": false, "seqscan": false, "key": false,
	} {
		assert.Equal(t, want, plain(name), name)
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
