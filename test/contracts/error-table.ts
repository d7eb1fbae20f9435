/** The table of reasons and dialects as the design states it, read cell by cell: what the code's own table is held against. */

const markdown = `
| reason | retry | zone | zone-strict | A2A 1.0 (also 0.3) | CleverAgents | VAPORA | HTTP |
|---|---|---|---|---|---|---|---|
| parse_error | no | -32700 | -32700 | -32700 | -32700 | -32700 | 400 |
| invalid_request | no | -32600 | -32600 | -32600 | -32600 | -32600 | 400 |
| method_not_found | no | -32601 | -32601 | -32601 | -32601 | -32601 | 404 |
| invalid_params | no | -32602 | -32602 | -32602 | -32602 | -32602 | 400 |
| internal | no | -32603 | -32603 | -32603 | -32603 | -32603 | 500 |
| timeout (the peer gave up; terminal) | no | **-32001** | -32001 | -32065, never -32001 | -32603 | -32603 | 504 |
| task_not_found | no | -32061 | -32000 | **-32001** | **-32001** | **-32000** | 404 |
| agent_not_found (unknown skill) | no | -32062 | -32000 | -32602 | -32001 | **-32000** | 404 |
| invalid_state | no | -32063 | -32000 | -32002 on cancel, else -32004 | **-32004** | **-32000** | 409 |
| execution_failed (the agent ran and failed) | no | -32064 | -32000 | task \`FAILED\`, no error | -32603 | -32603 | 500 |
| unauthenticated | no | -32066 | -32000 | HTTP 401 + -32066 | **-32002** | -32000 | 401 |
| permission_denied | no | -32067 | -32000 | HTTP 403 + -32067 | **-32003** | -32000 | 403 |
| already_exists | no | -32068 | -32602 | -32602 | **-32005** | -32000 | 409 |
| budget_exceeded | no | -32069 | -32000 | -32069 | **-32006** | -32603 | 402 |
| rate_limited | yes, after \`retry_after_ms\` | -32070 | -32000 | -32070, 429 + Retry-After | -32603 | -32603 | 429 |
| unavailable | yes | -32071 | -32000 | -32603, 503 + Retry-After | -32603 | -32603 | 503 |
| session_ending (not begun; ask again in another session) | yes | -32077 | -32000 | -32077 | -32603 | -32603 | 421 |
| invalid_response (the peer broke the contract) | no | -32072 | -32000 | -32006 | -32603 | -32603 | 502 |
| version_not_supported | no | -32073 | -32000 | -32009 | **-32007** | -32000 | 400 |
| plan_error (the agent cannot plan the task) | no | -32074 | -32000 | task \`REJECTED\` | **-32008** | -32603 | 422 |
| payload_too_large | no | -32075 | -32602 | -32602 | -32602 | -32602 | 413 |
| canceled | no | -32076 | -32000 | task \`CANCELED\` | -32004 | -32000 | 409 |
| unsupported_operation | no | -32601 | -32601 | -32004 | -32601 | -32601 | 400 |
| content_type_not_supported | no | -32602 | -32602 | -32005 | -32602 | -32602 | 415 |
| push_not_supported | no | -32601 | -32601 | -32003 | -32601 | -32601 | 400 |
| extended_card_not_configured | no | -32601 | -32601 | -32007 | -32601 | -32601 | 400 |
| extension_required | no | -32602 | -32602 | -32008 | -32602 | -32602 | 400 |
`;

export type ErrorTableRow = {
  reason: string;
  retryable: boolean;
  cells: Readonly<Record<string, string>>;
  http: number;
};

export const errorTable: readonly ErrorTableRow[] = markdown
  .trim()
  .split("\n")
  .slice(2)
  .map((line) => {
    const [reason = "", retry = "", zone = "", strict = "", a2a = "", clever = "", vapora = "", http] = line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.replaceAll(/\*\*|`/g, "").trim());
    const cells = { zone, "zone-strict": strict, a2a, "a2a-0.3": a2a, cleveragents: clever, vapora };
    return { reason: reason.split(" ")[0] ?? "", retryable: retry.startsWith("yes"), cells, http: Number(http) };
  });

/** The numbers that a cell names; none where it names a state. */
export function numbersIn(cell: string): readonly number[] {
  return (cell.replace(/, never .*/, "").match(/-\d+/g) ?? []).map(Number);
}

/** The HTTP status that a cell names beside its number, if it does. */
export function statusIn(cell: string): number | undefined {
  const [status] = cell.match(/(?<![-\d])\d{3}(?!\d)/) ?? [];
  return status === undefined ? undefined : Number(status);
}

/** The task state that a cell names instead of a number, if it does. */
export function stateIn(cell: string): string | undefined {
  return cell.match(/^task (\w+)/)?.[1]?.toLowerCase();
}
