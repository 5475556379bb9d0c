package gormtarantool

import (
	"slices"
	"strings"
)

// keywords are the words of SQL in Tarantool 2.6 to 2.11, sorted. Most are no names
// without quotes; the others are ones in some places only.
var keywords = strings.Fields(`
	abort action add after all alter analyze and any array as asc asensitive autoincrement before begin
	between binary blob bool boolean both by call cascade case cast char character check collate column
	column_ref commit condition conflict connect constraint create cross current current_date
	current_time current_timestamp current_user cursor date datetime dec decimal declare default
	deferrable deferred delete dense_rank desc describe deterministic disable distinct double drop each
	else elseif enable end engine escape except exists explain fail false fetch float for foreign from
	full function get grant group having if ignore immediate in index indexed initially inner inout
	insensitive insert instead int integer intersect interval into is iterate join key leading leave
	left like limit localtime localtimestamp loop map match natural no not null num number numeric of
	offset on or order out outer over partial partition plan pragma precision primary procedure query
	raise range rank reads real recursive references regexp release rename repeat replace resignal
	return revoke right rollback row row_number rows savepoint scalar select sensitive seqscan session
	set signal simple smallint specific sql start string system table text then to trailing transaction
	trigger trim true truncate union unique unknown unsigned update user using uuid values varbinary
	varchar view when whenever where while wildcard with
`)

// plain reports whether name is one without quotes too, which the server then
// folds: a lower-case ASCII identifier that is no keyword.
func plain(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '_'):
		default:
			return false
		}
	}
	_, keyword := slices.BinarySearch(keywords, name)
	return name != "" && !keyword
}
