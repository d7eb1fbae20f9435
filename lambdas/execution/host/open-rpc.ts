/** The contract's OpenRPC document, built when it is first asked for and kept. */
import { buildOpenRpc, type OpenRpc } from "../../../contracts/openrpc.ts";

let built: OpenRpc | undefined;

export function openRpc(): OpenRpc {
  built ??= buildOpenRpc();
  return built;
}
