/*
 * test_nvtx_abi.c - our NVTX declarations against the vendor's headers: static assertions, as in
 * test_abi.c. Compiled with WT_NO_NVTX_HEADERS where configure found none: the test then says that
 * nothing was compared. Single-threaded.
 */
#include "tests/tap.h"

#ifdef WT_NO_NVTX_HEADERS

int main(void)
{
	tap_skip_all("configure found no NVTX headers (--with-nvtx-include=DIR) to compare with");
}

#else

#include <nvtx3/nvToolsExt.h>

#include "libintercept/nvtx_abi.h"
#include "libintercept/ranges.h"

#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define SAME_FIELD(ours, member, theirs, their_member)                                             \
	_Static_assert(offsetof(ours, member) == offsetof(theirs, their_member) &&                 \
	                       sizeof(((ours *)0)->member) == sizeof(((theirs *)0)->their_member), \
	               #theirs "." #their_member)

SAME_VALUE(WTNVTX_ETID_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME_VALUE(WTNVTX_ETID_VERSIONINFO, NVTX_ETID_VERSIONINFO);
SAME_VALUE(WTNVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME_VALUE(WTNVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME_VALUE(WTNVTX_CORE_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME_VALUE(WTNVTX_CORE_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME_VALUE(WTNVTX_CORE_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME_VALUE(WTNVTX_CORE_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME_VALUE(WTNVTX_CORE_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME_VALUE(WTNVTX_CORE_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME_VALUE(WTNVTX_CORE_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME_VALUE(WTNVTX_CORE_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME_VALUE(WTNVTX_CORE_SIZE, NVTX_CBID_CORE_SIZE);
SAME_VALUE(WTNVTX_CORE2_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME_VALUE(WTNVTX_CORE2_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME_VALUE(WTNVTX_CORE2_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME_VALUE(WTNVTX_CORE2_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME_VALUE(WTNVTX_CORE2_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME_VALUE(WTNVTX_CORE2_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME_VALUE(WTNVTX_CORE2_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME_VALUE(WTNVTX_CORE2_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME_VALUE(WTNVTX_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
SAME_VALUE(WTNVTX_MESSAGE_UNKNOWN, NVTX_MESSAGE_UNKNOWN);
SAME_VALUE(WTNVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME_VALUE(WTNVTX_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME_VALUE(WTNVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME_VALUE(WT_RANGE_TEXT_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME_VALUE(WT_RANGE_TEXT_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME_VALUE(WT_RANGE_TEXT_KEPT, NVTX_MESSAGE_TYPE_REGISTERED);
SAME_VALUE(WTNVTX_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);

SAME_FIELD(struct wtnvtx_callbacks, struct_size, NvtxExportTableCallbacks, struct_size);
SAME_FIELD(struct wtnvtx_callbacks, get_functions, NvtxExportTableCallbacks,
           GetModuleFunctionTable);
_Static_assert(sizeof(struct wtnvtx_callbacks) == sizeof(NvtxExportTableCallbacks), "callbacks");

_Static_assert(sizeof(struct wtnvtx_attributes) == sizeof(nvtxEventAttributes_t), "attributes");
SAME_FIELD(struct wtnvtx_attributes, version, nvtxEventAttributes_t, version);
SAME_FIELD(struct wtnvtx_attributes, size, nvtxEventAttributes_t, size);
SAME_FIELD(struct wtnvtx_attributes, category, nvtxEventAttributes_t, category);
SAME_FIELD(struct wtnvtx_attributes, color_type, nvtxEventAttributes_t, colorType);
SAME_FIELD(struct wtnvtx_attributes, color, nvtxEventAttributes_t, color);
SAME_FIELD(struct wtnvtx_attributes, payload_type, nvtxEventAttributes_t, payloadType);
SAME_FIELD(struct wtnvtx_attributes, payload, nvtxEventAttributes_t, payload);
SAME_FIELD(struct wtnvtx_attributes, message_type, nvtxEventAttributes_t, messageType);
SAME_FIELD(struct wtnvtx_attributes, message, nvtxEventAttributes_t, message);

int main(void)
{
	ok(true, "our NVTX declarations are those of version %d", NVTX_VERSION);
	return tap_done();
}

#endif
