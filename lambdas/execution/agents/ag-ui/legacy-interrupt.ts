/** The older form of an interrupt, which LangGraph and CrewAI still send by default: an event of their own before a plain end of the run. */
import type { EventOf, Interrupt } from "./events.ts";

/** The value is an interrupt, or what the agent's code passed to LangGraph's `interrupt`, as JSON or as JSON in a text. */
export function readLegacyInterrupt({ value, rawEvent }: EventOf<"CUSTOM">): Interrupt {
  const content = parseText(value);
  const members = Object(content) as Record<string, unknown>;
  const { id: rawId } = Object(rawEvent) as { id?: unknown };
  return {
    id: readText(members.id) ?? readText(rawId) ?? "interrupt",
    message: readText(members.message),
    responseSchema: members.responseSchema ?? members.response_schema,
    expiresAt: readText(members.expiresAt ?? members.expires_at),
    metadata: { raw: content },
  };
}

/** A plain text is the question itself. */
function parseText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function readText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
