/** Talks to the server. Rejects with a `ServerError` whose message is for a person. */

export class ServerError extends Error {
  /** The HTTP status. Undefined if there was no answer. */
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined) {
    super(message);
    this.status = status;
  }
}

export function read<T>(path: string, headers: Record<string, string> = {}): Promise<T> {
  return request(path, { headers });
}

/** Posts JSON, which no other site can send without asking. */
export function act<T = unknown>(path: string, body: object = {}): Promise<T> {
  return request(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

export function upload<T>(path: string, file: Blob): Promise<T> {
  return request(path, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: file,
  });
}

async function request<T>(path: string, options: RequestInit): Promise<T> {
  const response = await fetch(path, options).catch(() => undefined);
  if (response?.ok) return response.json();
  const message = await response?.text().catch(() => "");
  throw new ServerError(
    message?.trim() || "The server is not responding. Is it still running?",
    response?.status,
  );
}

/** `refused`: the browser does not try again by itself. */
export type ConnectionState = "connecting" | "live" | "reconnecting" | "paused" | "refused";

/** Follows server-sent events until the returned function is called. */
export function follow<T>(
  path: string,
  listener: { onEvent(event: T): void; onState(state: ConnectionState): void },
): () => void {
  const source = new EventSource(path);
  source.onopen = () => listener.onState("live");
  source.onmessage = ({ data }) => listener.onEvent(JSON.parse(data));
  source.onerror = () =>
    listener.onState(source.readyState === EventSource.CLOSED ? "refused" : "reconnecting");
  return () => source.close();
}
