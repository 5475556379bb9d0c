package gormtarantool_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestValuesOfEveryVersion(t *testing.T) {
	type settings struct{ Theme string }
	type values struct {
		ID       uint
		Int8     int8
		Int64    int64
		Uint64   uint64
		Float    float64
		Whole    float64
		Bool     bool
		Text     string
		Bytes    []byte
		Pointer  *int
		JSON     settings `gorm:"serializer:json"`
		Gob      settings `gorm:"serializer:gob"`
		Raw      []byte   `gorm:"type:json"`
		Moment   int64    `gorm:"autoCreateTime:milli"`
		Duration time.Duration
	}
	db := open(t, quiet())
	migrate(t, db, &values{})
	five := 5
	for _, want := range []values{
		{
			ID: 1, Int8: -128, Int64: math.MinInt64, Uint64: math.MaxUint64, Float: 0.1, Whole: 3, Bool: true,
			Text: `a'"\` + "\x00ü", Bytes: []byte{0, 255}, Pointer: &five, JSON: settings{"dark"}, Gob: settings{"light"},
			Raw: []byte(`{"a":1}`), Moment: 7, Duration: time.Second,
		},
		{ID: 2, Bytes: []byte{}, Raw: []byte{}, Moment: 1},
	} {
		require.NoError(t, db.Create(&want).Error)
		var got values
		require.NoError(t, db.First(&got, want.ID).Error)
		assert.Equal(t, want, got)
	}
	var found []values
	require.NoError(t, db.Where("uint64 = ?", uint64(math.MaxUint64)).Where("whole = ?", 3.0).Find(&found).Error)
	assert.Len(t, found, 1)
}

func TestValuesOfNewerVersions(t *testing.T) {
	needsTimes(t)
	type values struct {
		ID       uuid.UUID
		At       time.Time
		Maybe    *time.Time
		Price    decimal.Decimal
		Amount   tntsql.Decimal
		Key      string    `gorm:"type:uuid"`
		Cost     string    `gorm:"type:decimal(10,2)"`
		Stamp    time.Time `gorm:"type:timestamp"`
		AsText   uuid.UUID `gorm:"type:text"`
		Numbered decimal.NullDecimal
	}
	db := open(t, quiet())
	migrate(t, db, &values{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	want := values{
		ID: uuid.New(), At: at, Maybe: &at, Price: decimal.RequireFromString("12345678901234567890.12"), Amount: "-0.5",
		Key: uuid.NewString(), Cost: "9.99", Stamp: at, AsText: uuid.New(),
		Numbered: decimal.NewNullDecimal(decimal.RequireFromString("1.5")),
	}
	require.NoError(t, db.Create(&want).Error)
	var got values
	require.NoError(t, db.First(&got, "id = ?", want.ID).Error)
	assert.True(t, want.Price.Equal(got.Price))
	assert.True(t, want.Numbered.Decimal.Equal(got.Numbered.Decimal))
	got.Price, got.Numbered = want.Price, want.Numbered
	assert.Equal(t, want, got)

	require.NoError(t, db.Where(&values{Key: want.Key}).First(&got).Error)
	require.NoError(t, db.Model(&values{ID: want.ID}).Updates(map[string]any{"cost": "10.50", "key": uuid.NewString()}).Error)
	types := columns(t, db, "values")
	for name, typ := range map[string]string{
		"id": "uuid", "at": "datetime", "price": "decimal", "amount": "decimal", "key": "uuid", "cost": "decimal",
		"stamp": "datetime", "as_text": "string", "numbered": "decimal",
	} {
		assert.Contains(t, types[name], typ, name)
	}
	before := schemaVersion(t)
	require.NoError(t, db.AutoMigrate(&values{}))
	assert.Equal(t, before, schemaVersion(t))
}

// INTERVAL has no Go type that GORM knows: the tag keeps it from being taken for an association.
func TestIntervals(t *testing.T) {
	needs(t, 2, 10, "INTERVAL columns")
	type plan struct {
		ID     int
		Period tntsql.Interval  `gorm:"type:interval"`
		Trial  *tntsql.Interval `gorm:"type:interval"`
	}
	db := open(t, quiet())
	migrate(t, db, &plan{})
	want := []plan{
		{ID: 1, Period: tntsql.Interval{Month: 1}},
		{ID: 2, Period: tntsql.Interval{Year: 1}, Trial: &tntsql.Interval{Day: 14}},
	}
	require.NoError(t, db.Create(&want).Error)
	require.NoError(t, db.Model(&want[0]).Update("trial", tntsql.Interval{Hour: 3}).Error)
	want[1].Period.Week = 2
	require.NoError(t, db.Save(&want[1]).Error)
	want[0].Trial = &tntsql.Interval{Hour: 3}
	var got []plan
	require.NoError(t, db.Order("id").Find(&got).Error)
	assert.Equal(t, want, got)
	before := schemaVersion(t)
	require.NoError(t, db.AutoMigrate(&plan{}))
	assert.Equal(t, before, schemaVersion(t))
}
