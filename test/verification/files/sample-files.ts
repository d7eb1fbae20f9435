/** Small files of known kinds. */

/** One pixel. */
export const png: Uint8Array = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=",
  "base64",
);
export const gif: Uint8Array = Buffer.from(
  "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
  "base64",
);
export const pdf: Uint8Array = Buffer.from(
  "%PDF-1.4\n%\u00e2\u00e3\n1 0 obj\n<<>>\nendobj\n",
  "latin1",
);
/** Without a file in it. */
export const zip: Uint8Array = Buffer.concat([Buffer.from("504b0506", "hex"), Buffer.alloc(18)]);
