/** People as Slack knows them: their language, their groups, the way to write to one of them alone. */
import * as z from "zod";
import { type SlackApi, SlackError } from "./slack.ts";
import type { SlackCall } from "./slack-call.ts";

const openedSchema = z.object({ channel: z.object({ id: z.string() }) });
const personSchema = z.object({ user: z.object({ locale: z.string().optional().catch(undefined) }) });
const membersSchema = z.object({ users: z.array(z.string()) });

export function createPeople(call: SlackCall): Pick<SlackApi, "openDirect" | "person" | "groupMembers"> {
  return {
    async openDirect({ user, ...common }) {
      const args = { users: user };
      const answer = await call({ method: "conversations.open", args, ...common, repeatable: true });
      return { channel: parse(openedSchema, answer).channel.id };
    },
    async person({ user, ...common }) {
      const args = { user, include_locale: true };
      const answer = await call({ method: "users.info", args, ...common, repeatable: true });
      return { locale: parse(personSchema, answer).user.locale };
    },
    async groupMembers({ group, ...common }) {
      const { team, enterprise } = common.installation;
      // A group is a workspace's own, and the token of an organization is good for all of them.
      const args = { usergroup: group, ...(enterprise === undefined ? {} : { team_id: team }) };
      const answer = await call({ method: "usergroups.users.list", args, ...common, repeatable: true });
      return parse(membersSchema, answer).users;
    },
  };
}

/** An answer without what was asked for tells nothing; asked again it may. */
function parse<T>(schema: z.ZodType<T>, answer: unknown): T {
  const { data } = schema.safeParse(answer);
  if (data === undefined) throw new SlackError("ambiguous");
  return data;
}
