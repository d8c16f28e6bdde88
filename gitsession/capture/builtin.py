"""The secrets everybody has: what each provider's credentials look like.

Kept as plain data apart from the machinery, so that a new provider is one line.
A pattern is in the common part of RE2's and Python's syntax; where it has a
group, the group is the secret and the rest is what makes it recognisable.
Patterns begin with something rare: one that could begin at any letter would
slow down the scan of every transcript.
"""

from __future__ import annotations

from typing import Literal

Test = Literal["none", "around", "random", "password", "assigned", "key-block"]
"""What a match must pass besides.

`none`: nothing. `around`: it is found by its anchor, and stands around that.
`random`: it must look like chance. `password`: it must not be a placeholder.
`assigned`: only the place is known, the value is read and judged by the name
before it. `key-block`: it goes on to the end of the block.
"""

_KEYWORD = (
    r"(?i:pass(?:word|wd|phrase|code|wort)?|pwd|secret|token|credentials?|authorization"
    r"|(?:api|access|private|signing|encryption|master|account|auth|subscription|storage)[_-]?key)"
    r"(?i:[_-]?(?:access[_-]?key|key|value|base64|plain|raw|prod|dev|staging))?"
    r"(?i:_base|_?[0-9]{1,2})?"
)
_BLANK = r"(?:[ \t]|\\+t)*"
_TYPE = r"(?::? ?&?(?i:str|string|bytes|SecretStr|Optional\[str\]|str \| None|Final)[ \t]*)?"
_ASSIGNED = (
    rf"{_KEYWORD}\\*[\"'`]?\]?{_BLANK}{_TYPE}(?:=>|:=|\?=|[!=]?={{1,2}}|:){_BLANK}"
    rf"|{_KEYWORD}\([ \t]*\\*[\"'`]"
    r"|(?i:password|identified[ \t]+by)[ \t]+\\*'"
    r"|--(?:[a-z0-9]+-)*(?:password|passwd|passphrase|token|secret|api-?key)[ \t]+"
    r"|login[ \t]+[^\s\"'\\]+[ \t]+password[ \t]+"
)
_URL_PART = r"(?:[^\s:/@\"'`<>\\]|\\+u00[0-9a-fA-F]{2})"
_URL_TAIL = r"(?:@[^\s:/@?#\"'`<>\\]+)*"

PATTERNS: tuple[tuple[str, Test, str], ...] = (
    # what a name or a place gives away
    ("private-key", "key-block",
     r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|Private-Lines: [0-9]+"),
    ("private-key-base64", "none",
     r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVE)"
     r"[A-Za-z0-9+/=]{16,}"),
    ("url-password", "password",
     rf"://{_URL_PART}*:((?:[^\s/@\"'`<>\\]|\\+u00[0-9a-fA-F]{{2}})+{_URL_TAIL})@"),
    ("url-token", "random", r"://([A-Za-z0-9_-]{20,})@"),
    ("authorization", "random",
     r"(?i:authorization)\\*[\"']?[ \t]*[:=,][ \t]*\\*[\"'`]?"
     r"(?i:basic|bearer|token|apikey|digest|negotiate)[ \t]+([A-Za-z0-9._~+/=-]{8,})"),
    ("bearer-token", "random", r"(?i:bearer)[ \t]+([A-Za-z0-9._~+/=-]{16,})"),
    ("curl-user", "password",
     r"[ \t](?:-u|--user)[ =]*\\*[\"']?[A-Za-z0-9_.@-]+:([^\s\"'`\\:][^\s\"'`\\]{3,})"),
    ("sshpass", "password", r"sshpass[ \t]+-p[ \t]*\\*[\"']?([^\s\"'`\\]{4,})"),
    ("xml-password", "password",
     r"(?i:<(?:[a-z]+:)?(?:[a-z]+[._-]?)?(?:password|passphrase|secret|token|apikey|api_key)>)"
     r"([^<>\s\"'`\\]{5,200})<\\*/"),
    ("docker-auth", "random",
     r"\"auth\\*\"[ \t]*:[ \t]*\\*\"([A-Za-z0-9+/]{12,}={0,2})"
     r"|_auth[ \t]*=[ \t]*([A-Za-z0-9+/]{12,}={0,2})"),
    ("aws-secret-key", "none",
     r"(?i:secret_?access_?key)\\*[\"']?[ \t]*(?:=>|:=|[:=])[ \t]*\\*[\"']?([A-Za-z0-9/+]{40})"),
    ("azure-storage-key", "none", r"AccountKey=([A-Za-z0-9+/]{40,}={0,2})"),
    ("azure-shared-key", "none", r"SharedAccessKey=([A-Za-z0-9+/]{40,}={0,2})"),
    ("azure-sas", "none", r"[?&]sig=([A-Za-z0-9+/%]{40,}(?:%3[dD]|=)?)"),
    ("azure-sas", "none", r"\\u0026sig=([A-Za-z0-9+/%]{40,}(?:%3[dD]|=)?)"),
    ("slack-webhook", "none",
     r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{30,})"),
    ("discord-webhook", "none",
     r"discord(?:app)?\.com/api/webhooks/[0-9]+/([A-Za-z0-9_-]{50,})"),
    ("teams-webhook", "none", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,})"),
    # what its own form gives away
    ("jwt", "none",
     r"ey[JK][A-Za-z0-9_-]{8,}\.ey[JK][A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?"),
    ("jwe", "none", r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){2}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+"),
    ("anthropic-api-key", "none", r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{16,}"),
    ("openrouter-api-key", "none", r"sk-or-v1-[0-9a-f]{32,}"),
    ("openai-api-key", "none",
     r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})"),
    ("openai-api-key", "none", r"sk-[A-Za-z0-9_-]{8,}T3BlbkFJ[A-Za-z0-9_-]{8,}"),
    ("aws-access-key", "none", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("aws-session-token", "none", r"(?:IQoJb3JpZ2luX2Vj|FwoGZXIvYXdz)[A-Za-z0-9/+=]{50,}"),
    ("aws-bedrock-key", "none", r"ABSK[A-Za-z0-9+/]{100,400}={0,2}"),
    ("gcp-api-key", "none", r"AIza[A-Za-z0-9_-]{35}"),
    ("gcp-oauth-secret", "none", r"GOCSPX-[A-Za-z0-9_-]{24,}"),
    ("gcp-oauth-token", "none", r"ya29\.[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{40,}"),
    ("github-token", "none", r"gh[pousr]_[A-Za-z0-9_.-]{36,}"),
    ("github-fine-grained-token", "none", r"github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab-token", "none",
     r"gl(?:pat|ptt|rt|rtr|dt|oas|soat|ft|ffct|imt|agent|cbt|wt)-[A-Za-z0-9_.-]{20,}"),
    ("gitlab-runner-token", "none", r"GR1348941[A-Za-z0-9_-]{20,}"),
    ("bitbucket-token", "none", r"AT(?:BB|CTT3)[A-Za-z0-9_=-]{24,}"),
    ("atlassian-token", "none", r"ATATT3[A-Za-z0-9_=-]{50,}"),
    ("slack-token", "none",
     r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    ("stripe-key", "none", r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    ("webhook-secret", "none", r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("npm-token", "none", r"npm_[A-Za-z0-9]{36,}"),
    ("pypi-token", "none", r"pypi-[A-Za-z0-9_-]{50,}"),
    ("rubygems-key", "none", r"rubygems_[a-f0-9]{40,}"),
    ("docker-token", "none", r"dckr_[a-z]{3}_[A-Za-z0-9_-]{20,}"),
    ("huggingface-token", "none", r"hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}"),
    ("groq-api-key", "none", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-api-key", "none", r"xai-[A-Za-z0-9]{60,}"),
    ("perplexity-api-key", "none", r"pplx-[A-Za-z0-9]{40,}"),
    ("replicate-token", "none", r"r8_[A-Za-z0-9]{36,}"),
    ("nvidia-api-key", "none", r"nvapi-[A-Za-z0-9_-]{50,}"),
    ("langsmith-key", "none", r"lsv2_[a-z]{2}_[0-9a-f]{32}_[0-9a-f]{8,}"),
    ("tavily-key", "none", r"tvly-[A-Za-z0-9-]{30,}"),
    ("sendgrid-key", "none", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}"),
    ("twilio-key", "none", r"SK[0-9a-f]{32}"),
    ("mailgun-key", "none", r"key-[0-9a-f]{32}"),
    ("mailchimp-key", "around", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    ("brevo-key", "none", r"xkeysib-[0-9a-f]{40,}-[A-Za-z0-9]{10,}"),
    ("azure-ad-secret", "around", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("azure-api-key", "around", r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}"),
    ("digitalocean-token", "none", r"do[opr]_v1_[a-f0-9]{60,}"),
    ("heroku-key", "none", r"HRKU-[A-Za-z0-9_-]{36,}"),
    ("shopify-token", "none", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("square-token", "none", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    ("linear-key", "none", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("notion-token", "none", r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}"),
    ("figma-token", "none", r"fig[dur]_[A-Za-z0-9_-]{36,}"),
    ("airtable-token", "none", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("databricks-token", "none", r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    ("doppler-token", "none", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}"),
    ("vault-token", "none", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("terraform-token", "around", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    ("pulumi-token", "none", r"pul-[a-f0-9]{40}"),
    ("grafana-token", "none", r"glc_[A-Za-z0-9+/=]{32,}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    ("new-relic-key", "none", r"NR(?:AK|II|IQ)-[A-Za-z0-9_-]{27,}"),
    ("sentry-token", "none", r"sntry[su]_[A-Za-z0-9_+/=-]{40,}"),
    ("dynatrace-token", "none", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("planetscale-token", "none", r"pscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.=-]{32,}"),
    ("supabase-key", "none", r"sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}"),
    ("postman-key", "none", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("telegram-token", "around", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}"),
    ("netlify-token", "none", r"nf[pcoub]_[A-Za-z0-9]{36,}"),
    ("fly-token", "none", r"fo1_[A-Za-z0-9_-]{40,}|fm[12][ar]?_[A-Za-z0-9+/=_-]{60,}"),
    ("tailscale-key", "none", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    ("1password-token", "none", r"ops_eyJ[A-Za-z0-9+/=_-]{60,}"),
    ("age-key", "none", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    # what the name before it gives away, and only a look at the value can tell
    ("assigned-secret", "assigned", _ASSIGNED),
)  # fmt: skip

ANCHORS = {
    "mailchimp-key": r"-us[0-9]",
    "azure-ad-secret": r"[0-9]Q~[A-Za-z0-9]",
    "azure-api-key": r"JQQJ99",
    "terraform-token": r"\.atlasv1\.",
    "telegram-token": r"[0-9]:AA[A-Za-z0-9_-]{32}",
}
"""The rare part of the patterns that begin with a common one."""
