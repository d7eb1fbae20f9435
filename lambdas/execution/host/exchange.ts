/** One HTTP exchange in the plainest shape: what every rim (web-standard, node:http) can give and take without ceremony. */

export type Exchange = {
  method: string;
  /** The URL's path, without the query. */
  path: string;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** Whom the platform in front of the entry has authenticated; nothing that the request itself says gets here. */
  platformPrincipal?: string | undefined;
  /** Rejects with `payload_too_large` past `maxBytes`. Called at most once; whoever is refused before is not read at all. */
  readBody(request: { maxBytes: number }): Promise<Uint8Array>;
};

export type ExchangeResponse = { status: number; headers: Record<string, string>; body: string };
