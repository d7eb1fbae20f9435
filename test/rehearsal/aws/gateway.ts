/**
 * The AWS of a rehearsal at one loopback address: every call must be signed with the caller's own credentials and allowed by
 * the templates; then an emulator or a stub answers. What is refused is refused as AWS does, and fails the rehearsal.
 */
import { presignedProblem } from "../../doubles/aws/s3-check.ts";
import { type Received, startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { clock } from "../clock.ts";
import type { Authority } from "../iam/authority.ts";
import type { Caller } from "./callers.ts";
import { awsFailure } from "./failure.ts";
import type { Implied } from "./implied.ts";
import { type AwsCall, readCall } from "./read-call.ts";
import { signedBy, sigv4ProblemAt } from "./signed-by.ts";

/** Answers what was allowed. */
export type Backend = (request: { call: AwsCall; received: Received; caller: Caller }) => Promise<Response>;

export type RecordedCall = Pick<AwsCall, "action" | "resources"> & { caller: string; kind: Caller["kind"] };

/** A response in the place of the service's own, for the calls that it wants. */
export type Fault = (request: { call: AwsCall; caller: Caller; text: string }) => Response | undefined;

export type Gateway = WebServer & {
  register(caller: Caller): void;
  /** All calls that were allowed, in order. */
  calls: RecordedCall[];
  faults: Set<Fault>;
};

export async function startGateway({
  authority,
  implied,
  backends,
  endpointArn,
  secretArn,
  onProblem,
}: {
  authority: Authority;
  implied: Implied;
  /** By the service's signing name. */
  backends: Record<string, Backend>;
  endpointArn: (request: { runtimeArn: string; qualifier: string }) => string;
  secretArn: (request: { id: string; caller: Caller }) => string;
  onProblem: (problem: string) => void;
}): Promise<Gateway> {
  const callers = new Map<string, Caller>();
  const calls: RecordedCall[] = [];
  const faults = new Set<Fault>();

  async function handle(received: Received): Promise<Response> {
    const { request, target, body } = received;
    const arrivedMs = Date.now();
    await clock.settled();
    // Whoever follows a presigned URL: it can do what its signer can.
    const { accessKeyId, region, service: signedFor, isPresigned } = signedBy(received);
    const caller = callers.get(accessKeyId);
    if (caller === undefined) return refuse("", "InvalidClientTokenId", `Someone unknown called ${target}.`);
    const call = readCall({
      received,
      service: signedFor,
      place: { account: caller.account, region },
      endpointArn,
      secretArn: (id) => secretArn({ id, caller }),
    });
    if (call === undefined)
      return refuse(
        "",
        "UnknownOperationException",
        `${caller.name} called ${request.method} ${target}, which is not AWS.`,
      );
    const { service, action, resources, context = {} } = call;
    const { credentials } = caller;
    const bad = isPresigned
      ? presignedProblem({ received, credentials, region, nowMs: Date.now() })
      : sigv4ProblemAt({ received, credentials, service, region, arrivedMs });
    if (bad !== undefined)
      return refuse(service, "InvalidSignatureException", `${caller.name} signed ${action} wrongly: ${bad}.`);
    const wrongRegion = resources.find((arn) => ![region, ""].includes(arn.split(":")[3] ?? region));
    if (wrongRegion !== undefined)
      return refuse(service, "ResourceNotFoundException", `${caller.name} looked for ${wrongRegion} in ${region}.`);
    const needed = [...resources.map((resource) => ({ action, resource, context })), ...implied(call)];
    for (const need of needed) {
      const principal = { type: "role", arn: caller.roleArn, account: caller.account } as const;
      const decision = authority.check({ principal, ...need });
      if (!decision.allowed) {
        const problem = `${caller.name} may not ${need.action} on ${need.resource}: ${decision.why}.`;
        return refuse(service, "AccessDeniedException", problem);
      }
    }
    calls.push({ action, resources, caller: caller.name, kind: caller.kind });
    const text = Buffer.from(body).toString("utf8");
    for (const fault of faults) {
      const response = fault({ call, caller, text });
      if (response !== undefined) return response;
    }
    const backend = backends[service];
    if (backend === undefined) throw new Error(`The rehearsal has nobody who answers for ${service}.`);
    const response = await backend({ call, received, caller });
    // What is behind may not live in the time of the rehearsal, and clients set their clocks by this.
    const headers = new Headers(response.headers);
    headers.delete("date");
    return new Response(response.body, { status: response.status, headers });
  }

  function refuse(service: string, name: string, problem: string): Response {
    onProblem(problem);
    return awsFailure({ service, name, message: problem });
  }

  const server = await startWebServer({ handle });
  return {
    ...server,
    calls,
    faults,
    register: (caller) => void callers.set(caller.credentials.accessKeyId, caller),
  };
}
