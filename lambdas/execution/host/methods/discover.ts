/** `rpc.discover`: the contract itself, as an OpenRPC document. */
import type { Method } from "../method.ts";
import { openRpc } from "../open-rpc.ts";

export function discover(): Method<"rpc.discover"> {
  return async () => openRpc();
}
