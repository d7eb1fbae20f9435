package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var waitText = regexp.MustCompile(`^wait (\d{1,3})\b`)

// agent is the part to replace with your own code. It returns the answer, in Markdown.
//
// ctx ends when the task is canceled and when its time is over: pass it to everything that waits. An error fails the task. Its text
// goes nowhere: people read a fixed sentence, and the log names the error's type.
//
// A text that begins with "wait 5" is answered over five seconds, and one that begins with "fail" fails.
func agent(ctx context.Context, params TaskParams, report func(Progress)) (string, error) {
	if strings.HasPrefix(params.Text, "fail") {
		return "", errors.New("nobody reads this")
	}
	answer := "You wrote: " + params.Text
	if match := waitText.FindStringSubmatch(params.Text); match != nil {
		seconds, err := strconv.Atoi(match[1])
		if err != nil {
			return "", fmt.Errorf("read the seconds: %w", err)
		}
		letters := []rune(answer)
		for second := 0; second < seconds; second++ {
			percent := 100 * second / seconds
			report(Progress{Percent: &percent, PartialText: string(letters[:len(letters)*second/seconds])})
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
	return answer, nil
}
