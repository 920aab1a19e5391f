# analysis/local.mk
