/** IAM's switch of an account by which STS issues tokens for others: EnableOutboundWebIdentityFederation and its info. */
import { xml, xmlError } from "./json-services-wire.ts";

export type Federation = {
  issuer: string;
  /** Before it is switched on for the first time the info is an error; after it is switched off it is not. */
  state: "never" | "on" | "off";
  handle(request: { action: string }): Response;
};

export function createFederation(): Federation {
  const federation: Federation = {
    issuer: "https://0f2c1d3e.tokens.sts.global.api.aws",
    state: "never",
    handle({ action }) {
      const issuer = `<IssuerIdentifier>${federation.issuer}</IssuerIdentifier>`;
      if (action === "GetOutboundWebIdentityFederationInfo") {
        if (federation.state === "never")
          return xmlError({ status: 404, name: "FeatureDisabled", message: "disabled" });
        const enabled = `<JwtVendingEnabled>${federation.state === "on"}</JwtVendingEnabled>`;
        return xml({ action, result: `${issuer}${enabled}` });
      }
      if (federation.state === "on") return xmlError({ status: 409, name: "FeatureEnabled", message: "enabled" });
      federation.state = "on";
      return xml({ action, result: issuer });
    },
  };
  return federation;
}
