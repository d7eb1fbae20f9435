/** Reads a response piece by piece while the peer still writes it. */
import { type HttpClient, HttpError, type HttpHead, type HttpRequest } from "./client.ts";

export type StreamedResponse = HttpHead & {
  /** Rejects as `send` does, also with `too_large`. Leaving the loop does not end the request; its signal does. */
  chunks: AsyncIterable<Uint8Array>;
};

/** Resolves with the head of the response. Rejects as `send` does. The pieces that nobody has read yet are kept, up to `maxBytes` in all. */
export function openStream(options: {
  http: HttpClient;
  request: Omit<HttpRequest<void>, "collect">;
  maxBytes: number;
}): Promise<StreamedResponse> {
  const { http, request, maxBytes } = options;
  const { promise, resolve, reject } = Promise.withResolvers<StreamedResponse>();
  const pieces: Uint8Array[] = [];
  let news = Promise.withResolvers<void>();
  let end: { error?: unknown } | undefined;
  let bytes = 0;

  function announce(): void {
    news.resolve();
    news = Promise.withResolvers();
  }

  async function* readPieces(): AsyncGenerator<Uint8Array> {
    for (;;) {
      yield* pieces.splice(0);
      if (pieces.length > 0) continue;
      if (end === undefined) await news.promise;
      else if ("error" in end) throw end.error;
      else return;
    }
  }

  function collect(head: HttpHead) {
    resolve({ ...head, chunks: readPieces() });
    return {
      add(piece: Uint8Array) {
        bytes += piece.byteLength;
        if (bytes > maxBytes) throw new HttpError("too_large");
        pieces.push(piece);
        announce();
      },
      end() {},
    };
  }

  http.send({ ...request, collect }).then(
    () => {
      end = {};
      announce();
    },
    (error: unknown) => {
      end = { error };
      reject(error);
      announce();
    },
  );
  return promise;
}
