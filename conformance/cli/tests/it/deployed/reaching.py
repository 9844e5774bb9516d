"""A target that only says how it reaches the parties that it is given: `reaching.py FILE`.

FILE gets an object: for each variable that is an address with TLS, what became of a request by whom is trusted: the
issuers of each variable that names some, and those of the system.
"""

import json
import os
import ssl
import sys
import urllib.error
import urllib.request

SECONDS = 30
ISSUERS = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "DENO_CERT")


def asked(url, context):
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
    try:
        opener.open(url, timeout=SECONDS)
    except urllib.error.HTTPError:
        pass  # an answer like any other
    except urllib.error.URLError as error:
        return type(error.reason).__name__
    return "answered"


def main():
    addresses = {name: value for name, value in os.environ.items() if name.startswith("CALLMARK_")}
    trusting = {name: ssl.create_default_context(cafile=os.environ[name]) for name in ISSUERS if name in os.environ}
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        os.environ.pop(name, None)
    trusting["the system"] = ssl.create_default_context()
    reached = {
        name: {who: asked(url, context) for who, context in trusting.items()} if url.startswith("https://") else url
        for name, url in addresses.items()
        if "://" in url
    }
    with open(sys.argv[1] + ".part", "w") as file:
        json.dump(reached, file)
    os.replace(sys.argv[1] + ".part", sys.argv[1])


main()
