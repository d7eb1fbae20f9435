/** Serves the events of a Function URL from the host. */
import { encodeError } from "../../contracts/encode-error.ts";
import { SekishoError } from "../../contracts/errors.ts";
import { exchangeOf, type FunctionUrlResponse, toFunctionUrlResponse } from "./function-url-event.ts";
import type { Host } from "./host/host.ts";

export type UrlHandler = (event: unknown) => Promise<FunctionUrlResponse>;

/** Never rejects. Whatever does not say who calls is refused with 403 before the host sees it. */
export function urlHandler({
  host,
  settled = async () => {},
}: {
  host: Pick<Host, "exchange">;
  /** Awaited before the function may be frozen. */
  settled?: () => Promise<void>;
}): UrlHandler {
  return async (event) => {
    const exchange = exchangeOf(event);
    const answer = toFunctionUrlResponse(exchange === undefined ? refusal() : await host.exchange(exchange));
    await settled();
    return answer;
  };
}

function refusal() {
  const error = encodeError({ error: new SekishoError("permission_denied"), dialect: "zone" });
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status: 403, headers, body: JSON.stringify({ jsonrpc: "2.0", id: null, error }) };
}
