package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// plainText is a value, which is not NULL, as text.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return hex.EncodeToString(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case fmt.Stringer: // an Interval
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case nil, bool, int64, uint64, []any, map[string]any, map[any]any:
		return string(appendJSON(nil, v))
	}
	return fmt.Sprint(v)
}

// appendJSON appends a value that the driver gave. Integers have all their digits. What
// JSON has no form for is a string.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case uint64:
		return strconv.AppendUint(b, v, 10)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return strconv.AppendFloat(b, v, 'g', -1, 64)
		}
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, element)
		}
		return append(b, ']')
	case map[string]any:
		return appendJSONObject(b, v)
	case map[any]any:
		named := make(map[string]any, len(v))
		for key, value := range v {
			named[plainText(key)] = value
		}
		return appendJSONObject(b, named)
	}
	return appendJSONString(b, plainText(v))
}

// appendJSONObject appends a map, its keys in order.
func appendJSONObject(b []byte, m map[string]any) []byte {
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSONString(b, key), ':')
		b = appendJSON(b, m[key])
	}
	return append(b, '}')
}

// appendJSONNumber appends a decimal with all its digits.
func appendJSONNumber(b []byte, digits string) []byte {
	if !json.Valid([]byte(digits)) {
		return appendJSONString(b, digits)
	}
	return append(b, digits...)
}

// appendJSONString appends a string without the escapes that JSON in HTML needs.
func appendJSONString(b []byte, s string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can be encoded
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
