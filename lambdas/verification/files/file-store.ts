/** The port of where files of messages lie for the Execution zone: readable by their URL alone, for a time. */

/**
 * The same key again replaces the same bytes. `expiresAtMs` is until when the URL is wanted to work, and of the answer until
 * when it does: then or earlier, never later than a day. Rejects where it may work another time.
 */
export type FileStore = {
  put(request: {
    /** Two names with a slash between them, both of `[A-Za-z0-9_-]`. */
    key: string;
    bytes: Uint8Array;
    mimetype: string;
    /** In hexadecimal. */
    sha256: string;
    expiresAtMs: number;
    signal: AbortSignal;
  }): Promise<{ url: string; expiresAtMs: number }>;
};

/** How long a file is kept at the least; then it may be gone any time. */
export const fileLifeMs = 24 * 3600_000;

/** What the file is called after the request id: Slack's own ids are so. */
export const fileIdPattern = /^[A-Za-z0-9_-]{1,128}$/;
