/** What becomes of a request to the page: a body for the browser, or why not, in words for a person. */

export type ActionResult = { done: object } | { refused: ActionRefusal };

export type ActionRefusal = { status: 400 | 404 | 409 | 429 | 502 | 503; words: string };

export function refuseAction(status: ActionRefusal["status"], words: string): ActionResult {
  return { refused: { status, words } };
}
