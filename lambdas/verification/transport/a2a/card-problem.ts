/** Describes each problem of an agent's card to an operator in one sentence, with what to do. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { sanitizeLine } from "@sekisho/runtime/untrusted-input.ts";
import { PeerProblem } from "../peer-problem.ts";

/** The names of the kinds, which the log shows. */
export type CardProblemName =
  | "CardNotFound"
  | "CardRefused"
  | "CardIsHtml"
  | "CardIsNotJson"
  | "CardIsForeign"
  | "CardTooLarge"
  | "CardRedirects"
  | "CardAtOtherOrigin"
  | "CardOfOtherBinding"
  | "CardOfOtherVersion";

/** The error of a call that the card has ended before anything was sent. */
export function createCardError(name: CardProblemName, message: string): SekishoError {
  const isUnsupported = name === "CardOfOtherBinding" || name === "CardOfOtherVersion";
  const reason = isUnsupported ? "version_not_supported" : "invalid_response";
  return new SekishoError(reason, {
    cause: new PeerProblem(name, message),
    certainty: "undelivered",
  });
}

export const foreignText =
  "The JSON at the card's address is not the agent card of an A2A agent. Check the address.";

const maxListed = 10;
const maxNameLength = 60;

/** Joins names from a card, each once, without control characters and cut. */
export function joinNames(names: readonly string[]): string {
  const clean = [...new Set(names.map((name) => sanitizeLine(name.slice(0, maxNameLength))))];
  return clean.length > maxListed
    ? `${clean.slice(0, maxListed).join(", ")} and more`
    : clean.join(", ");
}
