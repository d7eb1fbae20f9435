/** One HTTP exchange in the plainest shape: what every rim (web-standard, node:http) can give and take without ceremony. */

export type Exchange = {
  method: string;
  /** The URL's path, without the query. */
  path: string;
  /** A parameter of the URL's query, its name in any letter case. */
  query(name: string): string | undefined;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** Whom the platform in front of the entry has authenticated; nothing that the request itself says gets here. */
  platformPrincipal?: string | undefined;
  /** Rejects with `payload_too_large` past `maxBytes`. Called at most once; whoever is refused before is not read at all. */
  readBody(request: { maxBytes: number }): Promise<Uint8Array>;
  /** Whether an answer may come piece by piece. */
  canStream: boolean;
  /** Aborts when the client goes away or the server closes. Made when it is asked for: most answers need none. */
  readonly signal: AbortSignal;
};

export type WholeResponse = { status: number; headers: Record<string, string>; body: string };

/** A body in pieces is read to its end or returned; only for those who `canStream`. */
export type ExchangeResponse = Omit<WholeResponse, "body"> & { body: string | AsyncIterable<string> };
