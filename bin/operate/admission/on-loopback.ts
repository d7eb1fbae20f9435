/** On loopback: whoever is on this machine, and no other site in the same browser. */
import { refusalOf } from "../../web/guard.ts";
import { one } from "../../web/request.ts";
import type { Admission } from "./admission.ts";
import { isDocument } from "./is-document.ts";

const words = "Only the page of this server may ask this, under its own address: http://127.0.0.1 or http://localhost.";

export function onLoopback(): Admission {
  return {
    signsIn: false,
    streamMs: undefined,
    async admit(request) {
      const { host, origin, "sec-fetch-site": fetchSite } = request.headers;
      const site = isDocument(request) ? undefined : one(fetchSite);
      const { method, socket } = request;
      const refusal = refusalOf({ method, host, origin, fetchSite: site, port: socket.localPort });
      return refusal === undefined ? { operator: "loopback" } : { status: 403, words };
    },
  };
}
