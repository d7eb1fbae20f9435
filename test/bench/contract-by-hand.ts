/** The baseline of the contract's bench: the same answer by JSON.parse and checks that somebody wrote by hand. */

const tsPattern = /^\d+\.\d+$/;
const sessionPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{32,99}$/;

export async function answerByHand(body: Uint8Array): Promise<string> {
  const request = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"));
  const { id, method, params } = request;
  const isRequest =
    request.jsonrpc === "2.0" && (isText(id, 1, 128) || Number.isSafeInteger(id)) && isText(method, 1, 1000);
  if (!isRequest || method !== "execute_task" || !isTask(params)) throw new Error("refused");
  return JSON.stringify({ jsonrpc: "2.0", id, result: await execute(params) });
}

async function execute(params: { correlation_id?: string }) {
  return { status: "success", response_text: "done", correlation_id: params.correlation_id };
}

function isTask(params: Record<string, unknown> | null | undefined): boolean {
  if (typeof params !== "object" || params === null) return false;
  return (
    isText(params.channel, 1, 64) &&
    isText(params.text, 0, 40_000) &&
    isAbsentOr(params.thread_ts, isTs) &&
    isAbsentOr(params.team_id, isShort) &&
    isAbsentOr(params.user_id, isShort) &&
    isAbsentOr(params.correlation_id, (value) => isText(value, 1, 128)) &&
    isAbsentOr(params.session_id, (value) => typeof value === "string" && sessionPattern.test(value)) &&
    isAbsentOr(params.history, isHistory) &&
    isAbsentOr(params.timeout_ms, (value) => Number.isSafeInteger(value) && Number(value) >= 1)
  );
}

function isHistory(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > 50) return false;
  const isItem = (item: Record<string, unknown>) =>
    (item.role === "user" || item.role === "assistant") &&
    isText(item.text, 0, 4000) &&
    isAbsentOr(item.user_id, isShort) &&
    isAbsentOr(item.ts, isTs);
  return value.every(isItem) && Buffer.byteLength(JSON.stringify(value)) <= 64 * 1024;
}

function isAbsentOr(value: unknown, check: (value: unknown) => boolean): boolean {
  return value === undefined || check(value);
}

function isText(value: unknown, min: number, max: number): boolean {
  return typeof value === "string" && value.length >= min && value.length <= max;
}

function isShort(value: unknown): boolean {
  return isText(value, 1, 64);
}

function isTs(value: unknown): boolean {
  return isText(value, 1, 32) && tsPattern.test(String(value));
}
