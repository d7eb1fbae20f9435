/** One HTTP exchange in the plainest shape: what every rim (web-standard, node:http) can give and take without ceremony. */

export type Exchange = {
  method: string;
  /** The URL's path, without the query. */
  path: string;
  /** By lower-case name. */
  header(name: string): string | undefined;
  body: AsyncIterable<Uint8Array>;
};

export type ExchangeResponse = { status: number; headers: Record<string, string>; body: string };
