/** Bodies of messages of the verification queue. */

export function requestIdOf(number: number): string {
  return `00000000-0000-5000-8000-${String(number).padStart(12, "0")}`;
}

export function anAsk({ requestId, team = "T1" }: { requestId: string; team?: string }): string {
  return JSON.stringify({
    type: "ask",
    requestId,
    receivedAtMs: 1_790_000_000_000,
    trace: { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` },
    message: {
      appId: "A1",
      team,
      channel: "C1",
      user: "U1",
      ts: "1790000000.000100",
      direct: false,
      text: "the text",
    },
  });
}

export function aWake({ requestId }: { requestId: string }): string {
  return JSON.stringify({ type: "wake", requestId, seq: 3 });
}
