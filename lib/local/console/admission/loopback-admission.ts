/** On loopback: whoever came by the printed address, and no other site in the same browser. */
import type { Door } from "../../web/door.ts";
import { type Admission, type AdmissionRefusal, streamMs } from "./admission.ts";
import { isActivity, isDocument } from "./is-document.ts";

const otherSite: AdmissionRefusal = {
  status: 403,
  words: "Only the page of this server may ask this, under its own address: http://127.0.0.1 or http://localhost.",
};
const unknown: AdmissionRefusal = {
  status: 401,
  words: "Open the address that the command printed: it holds a token.",
};

export function createLoopbackAdmission({ door }: { door: Door }): Admission {
  async function admit(request: Parameters<Admission["admit"]>[0]) {
    const admitted = door.admit(request, { isDocument: isDocument(request), isActivity: isActivity(request) });
    if (!("refused" in admitted)) return { operator: admitted.grant, ended: admitted.ended };
    return admitted.refused === "no_session" ? unknown : otherSite;
  }
  return {
    signsIn: true,
    streamMs,
    admit,
    async signIn(request, token) {
      const refused = await admit(request);
      if ("status" in refused && refused.status === 403) return refused;
      const cookie = door.enter(request, token);
      return cookie === undefined ? unknown : { cookie };
    },
    enter: door.enter,
    signOut: door.leave,
  };
}
