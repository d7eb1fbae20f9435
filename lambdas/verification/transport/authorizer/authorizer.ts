/** The seam below the https transport: adds credentials to one outgoing request. */

export type AuthorizableRequest = {
  method: "POST";
  url: URL;
  /** Names in lower case; all of them are sent as they are. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  signal: AbortSignal;
};

export type AddedHeaders = Readonly<Record<string, string>>;

export type Authorizer = {
  /** The headers to add, at once where they are at hand. Called for each attempt. */
  authorize(request: AuthorizableRequest): AddedHeaders | Promise<AddedHeaders>;
  /** Forgets what it had kept, after a 401. An authorizer without it has nothing to renew. */
  refresh?(): void;
};
