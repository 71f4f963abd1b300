// main() of every GoogleTest program. Tests find their data under $WOOTZ_SOURCE_DIR, which is set here unless the caller did:
// the path stands in this one object only, so that compiled tests can be shared between checkouts by ccache.
#include <gmock/gmock.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("WOOTZ_SOURCE_DIR", WOOTZ_SOURCE_DIR, /*overwrite=*/0);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
