package dataset

import "context"

type noticesKey struct{}

// WithNotices returns a context in which say hears of waits outside of any stage that a person should know of, such as that for the lease of
// another machine. say is called from any goroutine, with one sentence without a line break.
func WithNotices(ctx context.Context, say func(text string)) context.Context {
	return context.WithValue(ctx, noticesKey{}, say)
}

// Notice tells whoever listens in ctx, if anybody does.
func Notice(ctx context.Context, text string) {
	if say, ok := ctx.Value(noticesKey{}).(func(string)); ok {
		say(text)
	}
}
