package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryGoroutineDoesAtLeastOneOperation(t *testing.T) {
	s, err := take(contender{do: func(context.Context, int) error { return nil }}, 100, 0, 0)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, s.Operations, 100)
}

func TestAnErrorEndsASlice(t *testing.T) {
	broken := errors.New("broken")
	fails := func(_ context.Context, n int) error {
		if n == stride {
			return broken
		}
		return nil
	}
	works := func(context.Context, int) error { return nil }
	_, err := take(contender{do: fails}, 2, time.Hour, 0)
	require.ErrorIs(t, err, broken)
	_, err = take(contender{do: works, meanwhile: func(context.Context, int) error { return broken }}, 2, time.Hour, 0)
	require.ErrorIs(t, err, broken)
}

func TestWhatRunsMeanwhileIsCounted(t *testing.T) {
	works := func(context.Context, int) error { return nil }
	s, err := take(contender{do: works, meanwhile: works}, 2, time.Millisecond, 0)
	require.NoError(t, err)
	assert.Positive(t, s.Meanwhile)
}

func TestADeadlineIsInEachContext(t *testing.T) {
	var got context.Context
	do := operation(func(ctx context.Context, _ int) error {
		got = ctx
		_, ok := ctx.Deadline()
		assert.True(t, ok)
		return nil
	}).withDeadline()
	require.NoError(t, do(t.Context(), 1))
	assert.ErrorIs(t, got.Err(), context.Canceled)
}

func TestConflictsAreTriedAgain(t *testing.T) {
	conflict, broken := errors.New("conflict"), errors.New("broken")
	left := []error{conflict, conflict, broken, nil}
	do := operation(func(context.Context, int) error {
		err := left[0]
		left = left[1:]
		return err
	}).afterConflicts(func(err error) bool { return errors.Is(err, conflict) })
	require.ErrorIs(t, do(t.Context(), 1), broken)
	require.NoError(t, do(t.Context(), 1))
}
