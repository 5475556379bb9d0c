package bench

import "fmt"

// distinctTexts are n texts of the same point SELECT.
func distinctTexts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("SELECT name AS n%d FROM read_only WHERE id = ?", i)
	}
	return texts
}
