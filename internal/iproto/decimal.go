package iproto

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// Decimal is an exact decimal number as text, for example "-1.50", for
// parameters: as a plain string it would go out as a STRING, which a DECIMAL
// column does not take. The empty text is 0. It needs Tarantool 2.10.
type Decimal string

func (d Decimal) text() string { return cmp.Or(string(d), "0") }

// Scan takes the number as rows have it: as text, or as the integer or double that a
// NUMBER column may hold. It makes a *Decimal an sql.Scanner.
func (d *Decimal) Scan(src any) error {
	var text string
	switch src := src.(type) {
	case string:
		text = src
	case []byte:
		text = string(src)
	case int64, uint64, float64:
		*d = Decimal(fmt.Sprint(src))
		return nil
	default:
		return fmt.Errorf("cannot scan %s into a DECIMAL", TypeName(src))
	}
	if _, err := appendDecimalText(nil, text, newest); err != nil {
		return err
	}
	*d = Decimal(text)
	return nil
}

// decimaler is what shopspring's decimal.Decimal has: the number is
// Coefficient × 10^Exponent.
type decimaler interface {
	Coefficient() *big.Int
	Exponent() int32
}

// maxDecimalDigits is how many digits, before and after the point together, a
// DECIMAL of the server has.
func maxDecimalDigits(server Version) int {
	if server.AtLeast(3, 5, 0) {
		return 76
	}
	return 38
}

// Longer runs of zeros in front of or behind a number's digits are written as
// an exponent. It is beyond what DECIMAL columns hold.
const maxDecimalZeros = 100

// appendDecimalText appends the extension for a number such as "-12.5e3".
func appendDecimalText(b []byte, text string, server Version) ([]byte, error) {
	invalid := func() error { return errors.New("not a decimal number") } // without a value, which may be a secret
	number, exponent := text, int64(0)
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.ParseInt(text[at+1:], 10, 32); err != nil {
			return b, invalid()
		}
		number = text[:at]
	}
	negative := strings.HasPrefix(number, "-")
	if negative || strings.HasPrefix(number, "+") {
		number = number[1:]
	}
	whole, fraction, _ := strings.Cut(number, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return b, invalid()
	}
	return appendDecimal(b, negative, digits, int64(len(fraction))-exponent, server)
}

func appendDecimaler(b []byte, v decimaler, server Version) ([]byte, error) {
	return appendBigInt(b, v.Coefficient(), -int64(v.Exponent()), server)
}

// appendBigInt appends the extension for n / 10^scale.
func appendBigInt(b []byte, n *big.Int, scale int64, server Version) ([]byte, error) {
	// Four bits are more than a digit; the text of a huge number is slow.
	if n.BitLen() > 4*maxDecimalDigits(server) {
		return b, tooManyDigits(server)
	}
	return appendDecimal(b, n.Sign() < 0, new(big.Int).Abs(n).String(), scale, server)
}

func tooManyDigits(server Version) error {
	return fmt.Errorf("a DECIMAL of Tarantool %v has at most %d digits", server, maxDecimalDigits(server))
}

// appendDecimal appends digits / 10^scale: the scale, then two digits a byte,
// the last half byte being the sign.
func appendDecimal(b []byte, negative bool, digits string, scale int64, server Version) ([]byte, error) {
	limit := maxDecimalDigits(server)
	digits = strings.TrimLeft(digits, "0")
	switch {
	case digits == "" && scale < 0:
		scale = 0
	case scale < 0 && int64(len(digits))-scale <= int64(limit):
		digits += strings.Repeat("0", int(-scale))
		scale = 0
	}
	if len(digits) > limit || scale < 0 || scale > int64(limit) {
		return b, tooManyDigits(server)
	}
	sign := byte(0x0c)
	if negative && digits != "" {
		sign = 0x0d
	}
	if len(digits)%2 == 0 {
		digits = "0" + digits
	}
	data := appendUint(make([]byte, 0, 48), uint64(scale))
	for ; len(digits) > 1; digits = digits[2:] {
		data = append(data, (digits[0]-'0')<<4|(digits[1]-'0'))
	}
	data = append(data, (digits[0]-'0')<<4|sign)
	return appendExt(b, extDecimal, data), nil
}

// decodeDecimal returns the number with all the digits of its scale: "1.50".
func decodeDecimal(data []byte) (string, error) {
	s := scanner{b: data}
	k, n, err := s.head()
	if err != nil {
		return "", err
	}
	scale := int64(n)
	if k != kindUint && k != kindInt || scale != int64(int32(scale)) {
		return "", s.malformed("the scale of a DECIMAL is %v", k)
	}
	packed := data[s.pos:]
	if len(packed) == 0 {
		return "", s.malformed("DECIMAL without digits")
	}
	last := len(packed) - 1
	digits := make([]byte, 0, 2*len(packed))
	for i, pair := range packed {
		high, low := pair>>4, pair&0x0f
		if high > 9 || (i < last) != (low <= 9) {
			return "", s.malformed("0x%02x in the digits of a DECIMAL", pair)
		}
		digits = append(digits, '0'+high)
		if i < last {
			digits = append(digits, '0'+low)
		}
	}
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	sign := ""
	if minus := packed[last] & 0x0f; (minus == 0x0b || minus == 0x0d) && digits[0] != '0' {
		sign = "-"
	}
	return sign + placePoint(string(digits), scale), nil
}

// placePoint writes digits / 10^scale.
func placePoint(digits string, scale int64) string {
	zeros := scale - int64(len(digits)) + 1 // in front, one of them before the point
	switch {
	case scale == 0 || scale < 0 && digits == "0":
		return digits
	case scale < -maxDecimalZeros || zeros > maxDecimalZeros:
		return digits + "E" + strconv.FormatInt(-scale, 10)
	case scale < 0:
		return digits + strings.Repeat("0", int(-scale))
	}
	if zeros > 0 {
		digits = strings.Repeat("0", int(zeros)) + digits
	}
	point := len(digits) - int(scale)
	return digits[:point] + "." + digits[point:]
}

func isNumber(v reflect.Value) bool { return v.CanInt() || v.CanUint() || v.CanFloat() }

// storeDecimal stores a decimal in a number: rounded in a float, as Scan has it.
func storeDecimal(dst reflect.Value, text string) error {
	bits := dst.Type().Bits()
	if strings.Trim(text, "+-0123456789.eE") != "" {
		return mismatch(text, dst) // ParseFloat takes more: "Inf", "0x1p-2"
	}
	if dst.CanFloat() {
		if f, err := strconv.ParseFloat(text, bits); err == nil {
			dst.SetFloat(f)
			return nil
		}
		return mismatch(text, dst)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.Trim(fraction, "0") != "" {
		return mismatch(text, dst)
	}
	if dst.CanInt() {
		if i, err := strconv.ParseInt(whole, 10, bits); err == nil {
			dst.SetInt(i)
			return nil
		}
	} else if u, err := strconv.ParseUint(whole, 10, bits); err == nil {
		dst.SetUint(u)
		return nil
	}
	return mismatch(text, dst)
}
