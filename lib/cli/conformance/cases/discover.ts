/** The case of `rpc.discover`. */
import * as z from "zod";
import { type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectResult, hasReason, readPeerError } from "../expect.ts";

const documentSchema = z.object({ methods: z.array(z.object({ name: z.string() })) });

export const discoverCases: readonly ConformanceCase[] = [
  {
    name: "discover/document",
    level: "optional",
    expects: "rpc.discover: an OpenRPC document that names execute_task",
    async check({ peer, newId }) {
      const id = newId();
      const answer = await peer.call({ method: "rpc.discover", id });
      const error = readPeerError(answer);
      if (error !== undefined && hasReason({ error, reason: "method_not_found", dialect: peer.dialect })) {
        throw new NotApplicable("the peer has no rpc.discover");
      }
      const { methods } = documentSchema.safeParse(expectResult({ answer, method: "rpc.discover", id })).data ?? {};
      if (methods?.some(({ name }) => name === "execute_task")) return answer.came;
      throw new Deviation(answer.came);
    },
  },
];
