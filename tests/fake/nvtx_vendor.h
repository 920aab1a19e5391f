/*
 * nvtx_vendor.h - the names of nvtx_client.h over the vendor's own headers, where configure found
 * some: the test program is then built a second time.
 */
#ifndef NVTX_VENDOR_H
#define NVTX_VENDOR_H

#include <nvtx3/nvToolsExt.h>

#include "libintercept/nvtx_abi.h"

#define NV_ATTRIBUTES(a) ((const nvtxEventAttributes_t *)(const void *)(a))
#define NV_DOMAIN(d) ((nvtxDomainHandle_t)(void *)(uintptr_t)(d))

#define nv_start_ex(a) nvtxRangeStartEx(NV_ATTRIBUTES(a))
#define nv_start_a nvtxRangeStartA
#define nv_start_w nvtxRangeStartW
#define nv_end nvtxRangeEnd
#define nv_push_ex(a) nvtxRangePushEx(NV_ATTRIBUTES(a))
#define nv_push_a nvtxRangePushA
#define nv_push_w nvtxRangePushW
#define nv_pop nvtxRangePop
#define nv_mark nvtxMarkA
#define nv_domain_start_ex(d, a) nvtxDomainRangeStartEx(NV_DOMAIN(d), NV_ATTRIBUTES(a))
#define nv_domain_end(d, id) nvtxDomainRangeEnd(NV_DOMAIN(d), id)
#define nv_domain_push_ex(d, a) nvtxDomainRangePushEx(NV_DOMAIN(d), NV_ATTRIBUTES(a))
#define nv_domain_pop(d) nvtxDomainRangePop(NV_DOMAIN(d))
#define nv_register_a(d, m) ((const void *)nvtxDomainRegisterStringA(NV_DOMAIN(d), m))
#define nv_register_w(d, m) ((const void *)nvtxDomainRegisterStringW(NV_DOMAIN(d), m))
#define nv_domain_a(m) ((const void *)nvtxDomainCreateA(m))
#define nv_domain_w(m) ((const void *)nvtxDomainCreateW(m))

#endif /* NVTX_VENDOR_H */
