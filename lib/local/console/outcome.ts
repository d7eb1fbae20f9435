/** What becomes of a request to the page: a body for the browser, or why not, in words for a person. */

export type Outcome = { done: object } | { refused: Refused };

export type Refused = { status: 400 | 404 | 409 | 429 | 502 | 503; words: string };

export function refused(status: Refused["status"], words: string): Outcome {
  return { refused: { status, words } };
}
