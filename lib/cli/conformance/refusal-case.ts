/** The commonest case: one body that the peer has to refuse with one error. */
import type { RequestId } from "../../../contracts/envelope.ts";
import type { Reason } from "../../../contracts/errors.ts";
import type { ConformanceCase } from "./case.ts";
import { expectError } from "./expect.ts";
import type { PeerRequest } from "./peer.ts";

type Refusal = {
  name: string;
  level?: ConformanceCase["level"];
  /** What is refused, in words. */
  of: string;
  /** With what, in words. */
  says: string;
  reason: Reason | readonly Reason[];
  /** Which id the answer has: none where the peer cannot know it. */
  ids?: "null" | "own" | "either";
  id?: () => RequestId;
  body: (id: RequestId) => PeerRequest["body"];
};

export function createRefusalCase({
  name,
  level = "required",
  of,
  says,
  reason,
  ids = "null",
  id,
  body,
}: Refusal): ConformanceCase {
  return {
    name,
    level,
    expects: `${of}: ${says}`,
    async check({ peer, newId }) {
      const own = id?.() ?? newId();
      const answer = await peer.send({ body: body(own) });
      const allowed = { null: [null], own: [own], either: [null, own] }[ids];
      return expectError({ answer, reasons: [reason].flat(), ids: allowed, dialect: peer.dialect });
    },
  };
}
