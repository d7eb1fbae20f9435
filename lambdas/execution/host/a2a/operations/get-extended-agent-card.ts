/** `GetExtendedAgentCard`: what the agent says of itself to those whom it knows. */
import type { Cards } from "../cards.ts";
import type { Operation } from "../operation.ts";

export function getExtendedAgentCard({ cards }: { cards: Pick<Cards, "extended"> }): Operation<"GetExtendedAgentCard"> {
  return async ({ version }) => cards.extended({ version });
}
