package gormtarantool_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tntsql/tntsql/gormtarantool"
)

// Each benchmark runs the same statements through GORM and through database/sql.
// What is between the two is GORM's, and the dialector's.
func BenchmarkOverhead(b *testing.B) {
	config := quiet()
	config.SkipDefaultTransaction = true
	db := openWith(b, gormtarantool.Open(dsn()), config)
	pool, err := db.DB()
	require.NoError(b, err)
	migrate(b, db, &city{})
	require.NoError(b, db.Create(thousandCities()).Error)
	fresh := func() { require.NoError(b, db.Delete(&city{}, "id > ?", 1000).Error) }
	ctx := context.Background()
	names := name{db}

	b.Run("first/gorm", func(b *testing.B) {
		for b.Loop() {
			var c city
			require.NoError(b, db.First(&c, 500).Error)
		}
	})
	b.Run("first/sql", func(b *testing.B) {
		query := names.in(`SELECT * FROM ? WHERE ? = ? ORDER BY ? LIMIT ?`, "cities", "cities.id", nil, "cities.id", nil)
		for b.Loop() {
			var c city
			require.NoError(b, pool.QueryRowContext(ctx, query, 500, 1).Scan(&c.ID, &c.Name, &c.Country, &c.People))
		}
	})
	b.Run("find 100/gorm", func(b *testing.B) {
		for b.Loop() {
			var found []city
			require.NoError(b, db.Find(&found, "id > ? AND id <= ?", 100, 200).Error)
			require.Len(b, found, 100)
		}
	})
	b.Run("find 100/sql", func(b *testing.B) {
		query := names.in(`SELECT * FROM ? WHERE id > ? AND id <= ?`, "cities", nil, nil)
		for b.Loop() {
			require.Len(b, scanCities(b, pool, query, 100, 200), 100)
		}
	})
	b.Run("create/gorm", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, db.Create(&city{Name: "Bonn", Country: "DE", People: 1}).Error)
		}
	})
	insert := names.in(`INSERT INTO ? (?,?,?) VALUES (?,?,?)`, "cities", "name", "country", "people", nil, nil, nil)
	fresh()
	b.Run("create/sql", func(b *testing.B) {
		for b.Loop() {
			result, err := pool.ExecContext(ctx, insert, "Bonn", "DE", 1)
			require.NoError(b, err)
			_, err = result.LastInsertId()
			require.NoError(b, err)
		}
	})
	fresh()
	b.Run("update/gorm", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, db.Model(&city{ID: 500}).Update("people", 7).Error)
		}
	})
	update := names.in(`UPDATE ? SET ? = ? WHERE ? = ?`, "cities", "people", nil, "id", nil)
	b.Run("update/sql", func(b *testing.B) {
		for b.Loop() {
			_, err := pool.ExecContext(ctx, update, 7, 500)
			require.NoError(b, err)
		}
	})
	b.Run("upsert/gorm", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&city{ID: 500, People: 7}).Error)
		}
	})
	b.Run("tuple in 50/gorm", func(b *testing.B) {
		pairs := make([]any, 50)
		for i := range pairs {
			pairs[i] = []any{i + 1, "DE"}
		}
		in := clause.IN{Column: []clause.Column{{Name: "id"}, {Name: "country"}}, Values: pairs}
		for b.Loop() {
			var found []city
			require.NoError(b, db.Where(in).Find(&found).Error)
			require.Len(b, found, 50)
		}
	})
}

func thousandCities() []city {
	all := make([]city, 1000)
	for i := range all {
		all[i] = city{Name: "Bonn", Country: "DE", People: i}
	}
	return all
}

func scanCities(b *testing.B, pool *sql.DB, query string, args ...any) []city {
	rows, err := pool.Query(query, args...)
	require.NoError(b, err)
	defer rows.Close()
	var found []city
	for rows.Next() {
		var c city
		require.NoError(b, rows.Scan(&c.ID, &c.Name, &c.Country, &c.People))
		found = append(found, c)
	}
	require.NoError(b, rows.Err())
	return found
}

// name writes names as GORM does on the server.
type name struct{ db *gorm.DB }

// in puts quoted names in the place of question marks; nil leaves one.
func (n name) in(text string, names ...any) string {
	stmt := &gorm.Statement{DB: n.db}
	for i, v := range names {
		if v == nil {
			names[i] = clause.Expr{SQL: "?"}
		} else {
			names[i] = clause.Expr{SQL: stmt.Quote(v)}
		}
	}
	clause.Expr{SQL: text, Vars: names, WithoutParentheses: true}.Build(stmt)
	return stmt.SQL.String()
}
