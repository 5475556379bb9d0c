package tntgoose

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/tntsql/tntsql/migrate/internal/script"
)

// files reads each migration before goose does. Goose opens all files that it is
// about to run before it runs the first.
type files struct{ fs.FS }

func (f files) Open(name string) (fs.File, error) {
	if path.Ext(name) == ".sql" {
		text, err := fs.ReadFile(f.FS, name)
		if err != nil {
			return nil, err
		}
		if _, err := script.Parse(string(text)); err != nil {
			return nil, fmt.Errorf("tntgoose: %s: %w", name, err)
		}
	}
	return f.FS.Open(name)
}
