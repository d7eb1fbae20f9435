/** What functions and runtimes find around them: the template's environment, credentials of their own, and where AWS and Slack are. */
import { type Caller, createCaller, credentialVariables } from "./aws/callers.ts";
import type { Gateway } from "./aws/gateway.ts";
import type { RunningPlace } from "./template/wiring.ts";

type Place = RunningPlace & { label: string };

export type Dependencies = {
  /** The template's variables, with the addresses that it believes in led to where they are here; and the credentials. */
  environmentOf(place: Place): Record<string, string>;
  callerFor(request: { place: Place; name: string; kind: Caller["kind"] }): Caller;
  /** Credentials that were given to a caller later on. */
  admit(caller: Caller): void;
  /** Whose access key it is. */
  callerOf(accessKeyId: string): Caller | undefined;
  /** From now on `believed` is to be found at `actual`. */
  move(address: { believed: string; actual: string }): void;
  moved(text: string): string;
};

export function createDependencies({ gateway, slackApiUrl }: { gateway: Gateway; slackApiUrl: string }): Dependencies {
  const addresses = new Map<string, string>();
  const callers = new Map<string, Caller>();

  function callerFor({ place, name, kind }: { place: Place; name: string; kind: Caller["kind"] }): Caller {
    const { roleArn, account, region } = place;
    const caller = createCaller({ name, kind, roleArn, account, region });
    admit(caller);
    return caller;
  }

  function admit(caller: Caller): void {
    callers.set(caller.credentials.accessKeyId, caller);
    gateway.register(caller);
  }

  function moved(text: string): string {
    let result = text;
    for (const [believed, actual] of addresses) result = result.replaceAll(believed, actual);
    return result;
  }

  return {
    environmentOf(place) {
      const own = Object.entries(place.environment).map(([name, value]) => [name, moved(value)] as const);
      const caller = callerFor({ place, name: place.label, kind: "code" });
      const variables: Record<string, string> = { ...Object.fromEntries(own), ...credentialVariables(caller) };
      if (variables.SEKISHO_SLACK_API_URL !== undefined) variables.SEKISHO_SLACK_API_URL = slackApiUrl;
      return { ...variables, AWS_ENDPOINT_URL: gateway.url };
    },
    callerFor,
    admit,
    callerOf: (accessKeyId) => callers.get(accessKeyId),
    move: ({ believed, actual }) => void addresses.set(believed, actual),
    moved,
  };
}
