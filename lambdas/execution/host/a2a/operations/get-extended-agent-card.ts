/** `GetExtendedAgentCard`: what the agent says of itself to those whom it knows. */
import type { ServedCards } from "../late-cards.ts";
import type { Operation } from "../operation.ts";

export function getExtendedAgentCard({
  cards,
}: {
  cards: Pick<ServedCards, "extended">;
}): Operation<"GetExtendedAgentCard"> {
  return async ({ version }) => cards.extended({ version });
}
