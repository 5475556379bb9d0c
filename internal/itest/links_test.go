package itest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced       = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	heading      = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// TestLinksOfTheDocumentationLead checks the links within this repository: the
// file is there, and the heading behind the "#".
func TestLinksOfTheDocumentationLead(t *testing.T) {
	checked := 0
	for _, page := range markdownFiles(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range markdownLink.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			target := link[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			path, anchor, hasAnchor := strings.Cut(target, "#")
			file := page
			if path != "" {
				file = filepath.Join(filepath.Dir(page), path)
			}
			assert.FileExists(t, indexed(file), "%s links to %s", page, target)
			if hasAnchor {
				assert.Contains(t, anchors(t, file), anchor, "%s links to %s", page, target)
			}
		}
	}
	assert.Greater(t, checked, 40)
}

func markdownFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// indexed is the page that stands for a directory, or the file itself.
func indexed(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, "README.md")
	}
	return path
}

// anchors are those that GitHub gives to the headings of a page.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(indexed(page))
	require.NoError(t, err)
	var names []string
	for _, title := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, title[1]))
	}
	return names
}
