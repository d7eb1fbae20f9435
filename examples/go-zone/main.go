// An Execution zone with Go's standard library: bearer token, bounded bodies, long tasks, progress, cancel, and idempotency by
// request id. The agent is in agent.go.
package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	maxBodyBytes = 256 * 1024
	// syncTime is how long a first call waits for the end of its task before it answers "accepted".
	syncTime       = time.Second
	bodyTime       = 10 * time.Second
	maxWaitMs      = 25_000
	minTokenLength = 20
)

type zone struct {
	token string
	tasks *tasks
}

func (z *zone) call(ctx context.Context, asked *request) (*Result, error) {
	switch asked.method {
	case "execute_task":
		params, err := readTaskParams(asked.params)
		if err != nil {
			return nil, err
		}
		var requestID string
		_ = json.Unmarshal(asked.id, &requestID) // An id that is a number stays "", which names no task.
		started, err := z.tasks.start(requestID, params)
		if err != nil {
			return nil, err
		}
		started.wait(ctx, syncTime, started.hasWords)
		return started.read()
	case "get_task":
		params := readParams(asked.params)
		waitMs := params.integer("wait_ms", 0, maxWaitMs)
		found, err := z.find(params)
		if err != nil {
			return nil, err
		}
		found.wait(ctx, time.Duration(waitMs)*time.Millisecond, found.hasNews)
		return found.read()
	case "cancel_task":
		found, err := z.find(readParams(asked.params))
		if err != nil {
			return nil, err
		}
		return found.cancel()
	default:
		return nil, &refusal{Reason: methodNotFound}
	}
}

func (z *zone) find(params *paramReader) (*task, error) {
	taskID, requestID := params.text("task_id", 256), params.text("request_id", 128)
	if (taskID == "") == (requestID == "") {
		params.refuse("task_id", "either task_id or request_id")
	}
	if params.err != nil {
		return nil, params.err
	}
	return z.tasks.find(taskID, requestID)
}

// ServeHTTP looks at the token and the announced size before it reads the body.
func (z *zone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/healthz" && r.Method == http.MethodGet:
		return
	case r.URL.Path != "/":
		w.WriteHeader(http.StatusNotFound)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	id, result, err := z.answer(w, r)
	status, answer := toResponse(id, result, err)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if id == nil && err != nil {
		// The body may be unread. On a connection that stays open, Go would wait for it before it sends the answer.
		w.Header().Set("Connection", "close")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil && r.Context().Err() == nil {
		log.Printf("A response could not be written: %T", err)
	}
}

func (z *zone) answer(w http.ResponseWriter, r *http.Request) (json.RawMessage, *Result, error) {
	if !z.isKnown(r) {
		return nil, nil, &refusal{Reason: unauthenticated}
	}
	if r.ContentLength > maxBodyBytes {
		return nil, nil, &refusal{Reason: payloadTooLarge}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, nil, &refusal{Reason: payloadTooLarge}
	}
	if err != nil {
		return nil, nil, &refusal{Reason: unavailable}
	}
	asked, err := readRequest(body)
	if err != nil {
		return nil, nil, err
	}
	result, err := z.call(r.Context(), asked)
	return asked.id, result, err
}

// isKnown compares in constant time, so that the time says nothing about the token.
func (z *zone) isKnown(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	return len(given) == 1 && subtle.ConstantTimeCompare([]byte(given[0]), []byte("Bearer "+z.token)) == 1
}

func main() {
	log.SetFlags(log.LstdFlags | log.LUTC)
	token := os.Getenv("AGENT_TOKEN")
	if len(token) < minTokenLength {
		log.Fatalf("Set AGENT_TOKEN to the token that callers must send, of %d characters or more (openssl rand -hex 32).", minTokenLength)
	}
	address := net.JoinHostPort(env("HOST", "127.0.0.1"), env("PORT", "8080"))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatalf("Cannot listen on %s: %v", address, err)
	}
	server := &http.Server{
		Handler:           &zone{token: token, tasks: newTasks()},
		ReadHeaderTimeout: bodyTime,
		ReadTimeout:       2 * bodyTime,
		WriteTimeout:      2*bodyTime + 40*time.Second, // Counted from the headers on, so it is longer than a call is held.
		IdleTimeout:       65 * time.Second,            // Longer than clients keep connections, so that they close them first.
		MaxHeaderBytes:    16 * 1024,
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Fatalf("The server ended: %v", err)
		}
	}()
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	fmt.Println("Listening on", host, port)
	<-ended.Done()
	// Calls under way are answered before the process ends.
	grace, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		log.Printf("Some calls were not answered: %T", err)
	}
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
