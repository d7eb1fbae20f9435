/** Who asked, as the transports pass it on, and the seams of what makes a token of it. */

/** A person as Slack names them. The ids are those of Slack. */
export type AskerPerson = {
  /** The workspace and the organization of the installation. */
  team: string;
  enterprise?: string | undefined;
  user: string;
  channel?: string | undefined;
  /** The timestamp of the thread's first message. */
  thread?: string | undefined;
  /** Confirmed in Slack. */
  email?: string | undefined;
};

/** The person behind a call. */
export type CallAsker = {
  person: AskerPerson;
  /** The task's. */
  requestId: string;
  /** The call brings the person's own word, so that its token is for this request alone. */
  isOwnWord: boolean;
};

export type AskerAlgorithm = "RS256" | "ES256";

/** Signs with the key that is current at this time. Rejects with a SekishoError whose certainty is `undelivered`. */
export type AskerSigner = {
  algorithm: AskerAlgorithm;
  /** Resolves to the signature of the text in the form of RFC 7518, section 3. `headerOf` gets the key's id. */
  sign(request: {
    textOf: (kid: string) => string;
    signal: AbortSignal;
  }): Promise<{ text: string; signature: Uint8Array }>;
};

/** A claim that a destination may get or not. */
export type AskerClaim = "team" | "user" | "channel" | "thread" | "email";

export type AskerAudience = {
  audience: string;
  claims: readonly AskerClaim[];
  /** `slack`: the ids of Slack. `opaque`: a digest of them, which says nothing about the person but is always the same. */
  subject: "slack" | "opaque";
};

export type AskerTokens = {
  /**
   * Resolves to a token for the call. Without an asker it is the zone's own. A token that is for one request is made anew for each attempt; any
   * other is used for some minutes. Rejects with a SekishoError whose certainty is `undelivered`.
   */
  issue(request: {
    to: AskerAudience;
    asker: CallAsker | undefined;
    body: Uint8Array;
    signal: AbortSignal;
  }): Promise<string>;
};
