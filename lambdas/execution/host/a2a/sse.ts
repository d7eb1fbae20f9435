/** Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): messages of one line each, framed. */

/**
 * Where nothing was to be said for `keepAliveMs`, a comment goes out, so that nobody in between takes the connection for dead.
 * Returned early it returns `messages`, and waits for nothing: whoever makes them must be told by a signal.
 */
export async function* serverSentEvents({
  messages,
  keepAliveMs,
}: {
  messages: AsyncIterable<string>;
  keepAliveMs: number;
}): AsyncGenerator<string> {
  const iterator = messages[Symbol.asyncIterator]();
  try {
    let next = iterator.next();
    for (;;) {
      const turn = await atMost({ work: next, ms: keepAliveMs });
      if (turn === undefined) {
        yield ": still here\n\n";
        continue;
      }
      if (turn.done) return;
      yield `data: ${turn.value}\n\n`;
      next = iterator.next();
    }
  } finally {
    iterator.return?.().catch(() => {});
  }
}

/** Undefined where the time is over first. */
async function atMost<T>({ work, ms }: { work: Promise<T>; ms: number }): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
