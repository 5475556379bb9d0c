package tntsql

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/tntsql/tntsql/internal/sqltext"
)

var (
	errOutput     = errors.New("tntsql: output parameters are not supported; Call returns what a procedure returns")
	errMixed      = errors.New("the text mixes kinds of parameters (?, $1, :name): use one")
	errNamedArg   = errors.New("named arguments need :name, @name or #name in the text")
	errCut        = errors.New("the text has a NUL byte, and the server would run what is in front of it")
	errMixedNamed = errors.New("name all arguments or none")
)

// CheckNamedValue lets database/sql hand every value on as it is: what can be
// sent depends on the server's version, and is decided when the body is encoded.
func (c *Conn) CheckNamedValue(nv *driver.NamedValue) error {
	if _, ok := nv.Value.(sql.Out); ok {
		return errOutput
	}
	return nil
}

// bind puts the arguments in the order of the text's parameters. A server would
// bind NULL to a parameter without an argument, so their number must fit.
func bind(s *sqltext.Statement, args []driver.NamedValue) ([]driver.NamedValue, error) {
	named := slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Name != "" })
	switch {
	case s.Cut:
		return nil, errCut
	case s.Style == sqltext.Mixed:
		return nil, errMixed
	case named && s.Style == sqltext.Named:
		return bindNames(s, args)
	case named:
		return nil, errNamedArg
	case len(args) != s.Params:
		return nil, fmt.Errorf("the text has %s, the call %s",
			count(s.Params, "parameter"), count(len(args), "argument"))
	}
	return args, nil
}

func bindNames(s *sqltext.Statement, args []driver.NamedValue) ([]driver.NamedValue, error) {
	bound := make([]driver.NamedValue, 0, len(s.Names))
	for _, name := range s.Names {
		i := slices.IndexFunc(args, func(a driver.NamedValue) bool { return a.Name == name[1:] })
		if i < 0 {
			return nil, fmt.Errorf("parameter %s has no argument", name)
		}
		if slices.ContainsFunc(args[i+1:], func(a driver.NamedValue) bool { return a.Name == name[1:] }) {
			return nil, fmt.Errorf("argument %q is given twice", name[1:])
		}
		bound = append(bound, driver.NamedValue{Name: name, Ordinal: len(bound) + 1, Value: args[i].Value})
	}
	for _, a := range args {
		switch {
		case a.Name == "":
			return nil, errMixedNamed
		case !slices.ContainsFunc(s.Names, func(name string) bool { return name[1:] == a.Name }):
			return nil, fmt.Errorf("argument %q is no parameter of the text", a.Name)
		}
	}
	return bound, nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
